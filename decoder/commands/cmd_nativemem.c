/* nativemem: allocations or frees one by one, in the format of the Rust agent's decoder. */
#include "decoder/commands/args.h"
#include "decoder/commands/chunk_visit.h"
#include "decoder/commands/empty_result.h"
#include "decoder/commands/command_input.h"
#include "decoder/output/raw_stack.h"
#include "decoder/output/message.h"
#include "decoder/output/terminal.h"
#include "profile/aggregate/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_DEPTH 5

static const struct command_option own_options[] = {
	{ "--type", "malloc|free", "which events to print (malloc)", ARG_STRING,
	  offsetof(struct args, type) },
	{ "--stack-depth", "N", "frames to print (5)", ARG_COUNT,
	  offsetof(struct args, stack_depth) },
	{ "--json", NULL, "print JSON", ARG_FLAG, offsetof(struct args, json) },
	{ 0 },
};

const struct command_option *const nativemem_options[] = {
	own_options, args_filters, args_period, args_sources, args_bucket, args_zip, NULL,
};

struct event_printer {
	const struct args *args;
	struct raw_stack stack;
	struct losses losses;
	bool frees, any;
};

static void print_event(struct event_printer *p, const struct jfr_chunk *chunk,
			const struct jfr_event *event, int64_t tid)
{
	raw_stack_print_time(stdout, &chunk->header, event->slot[JFR_TIME]);
	printf(" thread %" PRId64 " - %s at 0x%" PRIx64, tid, p->args->type,
	       (uint64_t)event->slot[JFR_ADDRESS]);
	if (!p->frees)
		printf(" (%" PRIu64 " bytes)", (uint64_t)event->slot[JFR_SIZE]);
	putchar('\n');
	raw_stack_print(stdout, &p->stack, p->args->stack_depth);
}

static void print_event_json(struct event_printer *p, const struct jfr_chunk *chunk,
			     const struct jfr_event *event, int64_t tid)
{
	printf("%s{\"time_ns\":%" PRId64 ",\"thread\":%" PRId64
	       ",\"type\":\"%s\",\"address\":\"0x%" PRIx64 "\"",
	       p->any ? ",\n" : "", ticks_to_ns(&chunk->header, event->slot[JFR_TIME]), tid,
	       p->args->type, (uint64_t)event->slot[JFR_ADDRESS]);
	if (!p->frees)
		printf(",\"bytes\":%" PRIu64, (uint64_t)event->slot[JFR_SIZE]);
	fputs(",\"frames\":", stdout);
	raw_stack_json(stdout, &p->stack);
	putchar('}');
}

static int print_chunk(void *arg, struct jfr_chunk *chunk, const struct feed_chunk *from,
		       struct chunk_filter *filter)
{
	struct event_printer *p = arg;
	struct jfr_event event;
	struct jfr_scan scan;
	int64_t tid, begin, end;
	bool inside = period_covers(&filter->period, &chunk->header, &begin, &end);

	(void)from;
	jfr_scan_start(&scan, chunk,
		       JFR_MASK(p->frees ? JFR_FREE : JFR_MALLOC) | JFR_MASK(JFR_LOSSES));
	while (jfr_scan_next(&scan, &event)) {
		if (event.kind == JFR_LOSSES && inside)
			losses_read(&p->losses, chunk, &event);
		if (event.kind == JFR_LOSSES)
			continue;
		if (!chunk_filter_accepts_event(filter, &event) ||
		    !jfr_event_thread_id(chunk, &event, "eventThread", &tid))
			continue;
		if (!raw_stack_read(&p->stack, chunk, &event))
			return -ENOMEM;
		(p->args->json ? print_event_json : print_event)(p, chunk, &event, tid);
		p->any = true;
	}
	return 0;
}

static int print_all(struct event_printer *p)
{
	int status;

	terminal_start_pager();
	if (p->args->json)
		puts("[");
	status = chunk_visit_all(p->args, print_chunk, p);
	if (p->args->json)
		puts("\n]");
	return status;
}

int cmd_nativemem(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct event_printer printing = { .args = &args, .stack = RAW_STACK_INIT };
	int status;

	args.type = "malloc";
	args.stack_depth = DEFAULT_DEPTH;
	status = args_parse(&args, argc, argv, nativemem_options);
	printing.frees = !strcmp(args.type, "free");
	if (status == COMMAND_OK && !printing.frees && strcmp(args.type, "malloc")) {
		message_print("%s: --type %s: takes malloc or free", args.command, args.type);
		status = COMMAND_USAGE;
	}
	if (status == COMMAND_OK)
		status = print_all(&printing);
	command_print_losses(&args, &printing.losses);
	if (status == COMMAND_OK && !printing.any)
		empty_result_explain(&args, 1u << METRIC_MALLOC, "no such event was recorded");
	raw_stack_free(&printing.stack);
	args_free(&args);
	return status;
}
