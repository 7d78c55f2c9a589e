/* longpolls: samples in long polls of an event loop, and stalls of event loops. Prints them one by one, as the Rust
 * agent's decoder does, or summed up by function. */
#include "decoder/commands/args.h"
#include "decoder/commands/chunk_visit.h"
#include "decoder/commands/empty_result.h"
#include "decoder/output/raw_stack.h"
#include "decoder/output/message.h"
#include "decoder/output/terminal.h"
#include "profile/aggregate/filter.h"
#include "profile/aggregate/frame_category.h"
#include "profile/basics/intern.h"
#include "profile/basics/array.h"
#include "profile/basics/text.h"
#include "profile/jfr/polls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_DEPTH 5
#define BUCKETS       7

static const struct command_option own_options[] = {
	{ "--stack-depth", "N", "frames to print (5)", ARG_COUNT,
	  offsetof(struct args, stack_depth) },
	{ "--include-non-pollcatch", NULL, "also samples outside of polls", ARG_FLAG,
	  offsetof(struct args, include_non_pollcatch) },
	{ "--own", NULL, "print polls as stalls: time of day, own code first", ARG_FLAG,
	  offsetof(struct args, own) },
	{ "--summary", NULL, "one row per function, with its polls' durations", ARG_FLAG,
	  offsetof(struct args, summary) },
	{ "--json", NULL, "print JSON", ARG_FLAG, offsetof(struct args, json) },
	{ 0 },
};

const struct command_option *const longpolls_options[] = {
	own_options, args_filters, args_period, args_sources,
	args_trace,  args_bucket,  args_zip,    NULL,
};

/* An idle worker waits inside its own poll. */
static const char idle_frame[] =
	"<tokio::runtime::scheduler::multi_thread::worker::Context>::park_timeout";

/* Prefixes of runtime functions, which are not what a user searches for. */
static const char *const runtime_prefixes[] = { "std::",    "core::",  "alloc::",  "tokio::",
						"futures",  "<core::", "<alloc::", "<std::",
						"<tokio::", "__",      "syscall" };

struct function_polls {
	uint32_t name;
	uint64_t polls, buckets[BUCKETS]; /* <100us, <1ms, ... <10s, longer */
	uint64_t longest_us, sum_us;
};

struct event_printer {
	const struct args *args;
	struct raw_stack stack;
	struct polls polls, stalls;
	uint64_t min_us;
	bool any_poll, any;

	struct intern names, seen;
	struct function_polls *functions;
	uint32_t room;
};

static bool stack_is_idle(struct raw_stack *stack)
{
	for (size_t i = 0; i < stack->count; i++)
		if (strstr(raw_stack_method(stack, i), idle_frame))
			return true;
	return false;
}

static bool frame_is_runtime(const char *class, const char *method)
{
	if (!strncmp(class, "libc.so", 7) || !strncmp(class, "ld-linux", 8) ||
	    !strncmp(class, "ld-musl", 7) || !strcmp(class, "vdso") || !*class)
		return true;
	for (size_t i = 0; i < sizeof(runtime_prefixes) / sizeof(runtime_prefixes[0]); i++)
		if (!strncmp(method, runtime_prefixes[i], strlen(runtime_prefixes[i])))
			return true;
	return false;
}

/* Whether CLASS, a class or the path of a file, is of a package or of the language's standard library. */
static bool frame_is_package(const char *class)
{
	bool is_path = *class == '/' || *class == '<' || !strncmp(class, "node:", 5);

	return is_path ? frame_category_of_script(class) != FRAME_OWN
		       : frame_category_of_java(class) != FRAME_OWN;
}

/* Returns the index of the function to blame: the innermost own one of a script or Java, else the innermost one
 * outside of runtimes, else 0. */
static size_t stack_find_own(struct raw_stack *stack)
{
	for (size_t i = 0; i < stack->count; i++)
		if (raw_stack_is_managed(stack, i) && *raw_stack_class(stack, i) &&
		    !frame_is_package(raw_stack_class(stack, i)))
			return i;
	for (size_t i = 0; i < stack->count; i++)
		if (!frame_is_runtime(raw_stack_class(stack, i), raw_stack_method(stack, i)))
			return i;
	return 0;
}

static const char *stack_find_function(struct raw_stack *stack)
{
	return stack->count ? raw_stack_method(stack, stack_find_own(stack)) : "<unknown>";
}

static uint64_t ticks_to_us(uint64_t ticks, const struct jfr_header *header)
{
	return (uint64_t)((unsigned __int128)ticks * 1000000u /
			  (unsigned __int128)header->ticks_per_second);
}

/* Add POLL to the function's row. A poll with several samples counts once per function. */
static int function_add_poll(struct event_printer *p, const struct poll *poll,
			     const struct jfr_header *header)
{
	uint32_t name = intern_string(&p->names, stack_find_function(&p->stack));
	uint64_t key[3] = { poll->tid, poll->start, name };
	uint32_t before = p->seen.count;
	uint64_t us = ticks_to_us(poll->duration, header);
	struct function_polls *one;
	unsigned bucket = 0;

	if (array_reserve(&p->functions, &p->room, name, sizeof(*p->functions)))
		return -ENOMEM;
	intern(&p->seen, key, sizeof(key));
	if (p->seen.count == before)
		return 0;
	one = &p->functions[name];
	for (uint64_t limit = 100; bucket < BUCKETS - 1 && us >= limit; limit *= 10)
		bucket++;
	one->name = name;
	one->polls++;
	one->buckets[bucket]++;
	one->sum_us += us;
	if (us > one->longest_us)
		one->longest_us = us;
	return 0;
}

/* Print TICKS as the time of day in UTC: "[2026-11-21T02:29:41.123456Z]". */
static void print_clock(const struct jfr_header *header, int64_t ticks)
{
	int64_t ns = ticks_to_ns(header, ticks), second = 1000000000;
	int64_t fraction = (ns % second + second) % second;
	char text[TEXT_NUMBER];

	text_time(text, ns - fraction);
	text[strcspn(text, "Z")] = '\0';
	printf("[%s.%06dZ]", text, (int)(fraction / 1000));
}

/* Print TICKS: OWN as the time of day, else as the Rust agent's decoder does. */
static void print_time(const struct jfr_chunk *chunk, int64_t ticks, bool own)
{
	if (own)
		print_clock(&chunk->header, ticks);
	else
		raw_stack_print_time(stdout, &chunk->header, ticks);
}

/* Print the stack: OWN from the program's own function on, else as the Rust agent's decoder does. */
static void print_stack(struct event_printer *p, bool own)
{
	raw_stack_print_from(stdout, &p->stack, own ? stack_find_own(&p->stack) : 0,
			     p->args->stack_depth);
}

/* Print the first members of an event. KIND: "poll", "stall" or "sample". */
static void print_json_head(const struct event_printer *p, const struct jfr_chunk *chunk,
			    const char *kind, int64_t ticks, int64_t tid)
{
	printf("%s{\"kind\":\"%s\",\"time_ns\":%" PRId64 ",\"thread\":%" PRId64,
	       p->any ? ",\n" : "", kind, ticks_to_ns(&chunk->header, ticks), tid);
}

/* Print the last members of an event. Frame "own" is the innermost one of the program's. */
static void print_json_frames(struct event_printer *p)
{
	printf(",\"own\":%zu,\"frames\":", stack_find_own(&p->stack));
	raw_stack_json(stdout, &p->stack);
	putchar('}');
}

/* Print LINES of "key=value" as an object. */
static void print_json_context(const char *lines)
{
	char text[256];

	fputs(",\"context\":{", stdout);
	for (const char *line = lines; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t key = strcspn(line, "=\n"), length = strcspn(line, "\n");

		if (line != lines)
			putchar(',');
		snprintf(text, sizeof(text), "%.*s", (int)key, line);
		json_string(stdout, text);
		putchar(':');
		key += key < length;
		snprintf(text, sizeof(text), "%.*s", (int)(length - key), line + key);
		json_string(stdout, text);
	}
	putchar('}');
}

static void print_sample(struct event_printer *p, const struct jfr_chunk *chunk, int64_t ticks,
			 const struct poll *poll, uint64_t us, int64_t tid)
{
	if (p->args->json) {
		print_json_head(p, chunk, poll ? "poll" : "sample", ticks, tid);
		if (poll)
			printf(",\"microseconds\":%" PRIu64, us);
		print_json_frames(p);
		return;
	}
	print_time(chunk, ticks, p->args->own);
	printf(" thread %" PRId64 " - ", tid);
	if (poll)
		printf("poll of %" PRIu64 "us\n", us);
	else
		puts("sample with no pollcatch information");
	print_stack(p, p->args->own);
}

/* Print a sample of thread TID at TICKS inside POLL. */
static int print_sample_in_poll(struct event_printer *p, const struct jfr_chunk *chunk,
				const struct jfr_event *event, const struct poll *poll,
				int64_t ticks, int64_t tid)
{
	uint64_t us = 0;

	if (poll) {
		us = ticks_to_us((uint64_t)ticks - poll->start, &chunk->header);
		if (us < p->min_us)
			return 0;
	}
	if (!raw_stack_read(&p->stack, chunk, event))
		return -ENOMEM;
	if (stack_is_idle(&p->stack))
		return 0;
	if (!p->args->summary)
		print_sample(p, chunk, ticks, poll, us, tid);
	p->any = true;
	return p->args->summary && poll ? function_add_poll(p, poll, &chunk->header) : 0;
}

/* Print what the thread worked on, LINES of "key=value". */
static void print_context(const char *lines)
{
	for (size_t length; *lines; lines += length + (lines[length] == '\n')) {
		length = strcspn(lines, "\n");
		printf(", %.*s", (int)length, lines);
	}
}

static void print_stall_text(struct event_printer *p, const struct jfr_chunk *chunk,
			     const struct poll *stall, uint64_t us, const char *context)
{
	print_time(chunk, (int64_t)stall->start, true);
	printf(" thread %" PRIu32 " - stall of %" PRIu64 "us, %d ready", stall->tid, us,
	       stall->ready);
	print_context(context);
	putchar('\n');
	print_stack(p, true);
}

static void print_stall_json(struct event_printer *p, const struct jfr_chunk *chunk,
			     const struct poll *stall, uint64_t us, const char *context)
{
	print_json_head(p, chunk, "stall", (int64_t)stall->start, stall->tid);
	printf(",\"microseconds\":%" PRIu64 ",\"ready\":%d", us, stall->ready);
	print_json_context(context);
	print_json_frames(p);
}

/* Print STALL with the stack in P, which may be empty. CONTEXT: what its thread worked on. */
static int print_stall(struct event_printer *p, const struct jfr_chunk *chunk,
		       const struct poll *stall, const char *context)
{
	uint64_t us = ticks_to_us(stall->duration, &chunk->header);

	if (us < p->min_us || stack_is_idle(&p->stack))
		return 0;
	if (!p->args->summary && p->args->json)
		print_stall_json(p, chunk, stall, us, context);
	else if (!p->args->summary)
		print_stall_text(p, chunk, stall, us, context);
	p->any = true;
	return p->args->summary ? function_add_poll(p, stall, &chunk->header) : 0;
}

/* Print a stall event, which has its own stack. */
static int print_stall_event(struct event_printer *p, const struct jfr_chunk *chunk,
			     const struct jfr_event *event, struct chunk_filter *filter)
{
	struct poll stall = { .start = (uint64_t)event->slot[JFR_TIME],
			      .duration = (uint64_t)event->slot[JFR_DURATION] };
	struct jfr_value ready;
	int64_t tid = 0;

	if (jfr_event_thread_id(chunk, event, "eventThread", &tid))
		stall.tid = (uint32_t)tid;
	if (jfr_event_get_field(chunk, event, "ready", &ready))
		stall.ready = (int)jfr_value_integer(&ready);
	if (!raw_stack_read(&p->stack, chunk, event))
		return -ENOMEM;
	return print_stall(p, chunk, &stall, chunk_filter_context(filter, event));
}

/* Print the stall that a sample of thread TID at TICKS belongs to, if any. Its first sample has its stack. */
static int print_stall_of_sample(struct event_printer *p, const struct jfr_chunk *chunk,
				 const struct jfr_event *event, int64_t ticks, int64_t tid)
{
	struct poll *stall = polls_find_at(&p->stalls, tid, ticks);

	if (!stall || stall->is_reported)
		return 0;
	stall->is_reported = true;
	return raw_stack_read(&p->stack, chunk, event) ? print_stall(p, chunk, stall, "") : -ENOMEM;
}

/* Print stalls without a sample. */
static int print_stalls_without_sample(struct event_printer *p, const struct jfr_chunk *chunk,
				       struct chunk_filter *filter)
{
	const struct poll *list = (const void *)p->stalls.list.data;
	int err = 0;

	p->stack.count = 0;
	for (size_t i = 0; i < p->stalls.count && !err; i++)
		if (!list[i].is_reported &&
		    chunk_filter_accepts_time(filter, (int64_t)list[i].start))
			err = print_stall(p, chunk, &list[i], "");
	return err;
}

/* Returns POLL's last tick, at most LAST. */
static int64_t poll_last_tick(const struct poll *poll, int64_t last)
{
	uint64_t end = poll->start + poll->duration;

	return end <= (uint64_t)last ? (int64_t)end - 1 : last;
}

/* Print the polls that one event belongs to. A sleeping thread is counted instead of sampled: one event covers the
 * time from its first to its last sample. So it may belong to several polls, in each until the poll's end. */
static int print_polls_of_sample(struct event_printer *p, const struct jfr_chunk *chunk,
				 const struct jfr_event *event)
{
	const struct poll *poll;
	int64_t tid = -1, ticks = event->slot[JFR_TIME], last = ticks;
	int err = 0;

	if (event->slot[JFR_SPAN] > 0 &&
	    __builtin_add_overflow(ticks, event->slot[JFR_SPAN], &last))
		last = ticks;
	jfr_event_thread_id(chunk, event, "sampledThread", &tid);
	if (p->stalls.count)
		err = print_stall_of_sample(p, chunk, event, ticks, tid);
	poll = polls_find_at(&p->polls, tid, ticks);
	if (!poll && !err && p->args->include_non_pollcatch)
		err = print_sample_in_poll(p, chunk, event, NULL, ticks, tid);
	if (!poll)
		poll = polls_find_first_between(&p->polls, tid, ticks, last);
	for (; poll && !err;
	     poll = polls_find_first_between(&p->polls, tid, (int64_t)poll->start, last))
		if (poll->duration)
			err = print_sample_in_poll(p, chunk, event, poll,
						   poll_last_tick(poll, last), tid);
	return err;
}

static int print_chunk(void *arg, struct jfr_chunk *chunk, const struct feed_chunk *from,
		       struct chunk_filter *filter)
{
	struct settings settings = from->settings;
	struct event_printer *p = arg;
	struct jfr_event event;
	struct jfr_scan scan;
	int err = polls_read(&p->polls, chunk);

	if (!err)
		err = polls_read_stalls(&p->stalls, chunk);
	p->any_poll |= p->polls.count > 0;
	jfr_scan_start(&scan, chunk,
		       JFR_MASK(JFR_EXECUTION_SAMPLE) | JFR_MASK(JFR_WALL_SAMPLE) |
			       JFR_MASK(JFR_SETTING) | JFR_MASK(JFR_STALL));
	while (!err && jfr_scan_next(&scan, &event)) {
		if (event.kind == JFR_SETTING)
			settings_read_event(&settings, chunk, &event);
		if (p->polls.count && settings.clock[0] && strcmp(settings.clock, "tsc")) {
			message_print(
				"%s: its clock is '%s', but polls use the timestamp counter: "
				"record it with clock=tsc (ASPROF_AGENT_ENGINE_OPTIONS=clock=tsc)",
				from->file, settings.clock);
			return -ENOTSUP;
		}
		if (event.kind == JFR_SETTING || !chunk_filter_accepts_event(filter, &event))
			continue;
		err = event.kind == JFR_STALL ? print_stall_event(p, chunk, &event, filter)
					      : print_polls_of_sample(p, chunk, &event);
		p->any_poll |= event.kind == JFR_STALL;
	}
	p->any_poll |= p->stalls.count > 0;
	return err ? err : print_stalls_without_sample(p, chunk, filter);
}

static int compare_poll_time(const void *a, const void *b)
{
	const struct function_polls *x = a, *y = b;

	if (x->sum_us != y->sum_us)
		return x->sum_us < y->sum_us ? 1 : -1;
	if (x->polls != y->polls)
		return x->polls < y->polls ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

static const char *const bucket_names[BUCKETS] = { "<100us", "<1ms", "<10ms", "<100ms",
						   "<1s",    "<10s", ">=10s" };

static void print_summary_json(const struct event_printer *p)
{
	puts("[");
	for (uint32_t i = 0; i < p->room && p->functions[i].polls; i++) {
		const struct function_polls *one = &p->functions[i];

		fputs(i ? ",\n{\"name\":" : "{\"name\":", stdout);
		json_string(stdout, intern_text(&p->names, one->name));
		printf(",\"polls\":%" PRIu64 ",\"sum_microseconds\":%" PRIu64
		       ",\"longest_microseconds\":%" PRIu64 ",\"histogram\":{",
		       one->polls, one->sum_us, one->longest_us);
		for (unsigned k = 0; k < BUCKETS; k++)
			printf("%s\"%s\":%" PRIu64, k ? "," : "", bucket_names[k], one->buckets[k]);
		fputs("}}", stdout);
	}
	puts("\n]");
}

static void print_summary(const struct event_printer *p)
{
	char sum[TEXT_NUMBER], longest[TEXT_NUMBER];

	printf("%8s %9s %9s ", "polls", "sum", "longest");
	for (unsigned k = 0; k < BUCKETS; k++)
		printf(" %6s", bucket_names[k]);
	printf("\n");
	for (uint32_t i = 0; i < p->room && p->functions[i].polls; i++) {
		const struct function_polls *one = &p->functions[i];

		printf("%8" PRIu64 " %9s %9s ", one->polls,
		       text_duration(sum, (double)one->sum_us * 1e3),
		       text_duration(longest, (double)one->longest_us * 1e3));
		for (unsigned k = 0; k < BUCKETS; k++)
			if (one->buckets[k])
				printf(" %6" PRIu64, one->buckets[k]);
			else
				printf(" %6s", ".");
		printf("\n         %s\n", intern_text(&p->names, one->name));
	}
	if (!p->seen.count)
		puts("no samples inside polls, and no stalls");
}

/* Take the last argument as the minimum duration, unless it is a file. */
static void args_parse_minimum(struct args *args, uint64_t *min_us)
{
	uint64_t ns;
	struct stat status;

	if (args->file_count < 2 || !stat(args->files[args->file_count - 1], &status) ||
	    args_duration(args->files[args->file_count - 1], &ns))
		return;
	*min_us = ns / 1000;
	args->file_count--;
}

/* Print the events, or with --summary add them up. Returns a status. */
static int print_events(struct event_printer *p)
{
	bool is_list = p->args->json && !p->args->summary;
	int status;

	if (!p->args->summary)
		terminal_start_pager();
	if (is_list)
		puts("[");
	status = chunk_visit_all(p->args, print_chunk, p);
	if (is_list)
		puts("\n]");
	return status;
}

int cmd_longpolls(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct event_printer p = {
		.args = &args, .stack = RAW_STACK_INIT, .polls = POLLS_INIT, .stalls = POLLS_INIT
	};
	int status;

	args.stack_depth = DEFAULT_DEPTH;
	status = args_parse(&args, argc, argv, longpolls_options);
	if (status == COMMAND_OK) {
		args_parse_minimum(&args, &p.min_us);
		status = print_events(&p);
		if (status == COMMAND_OK && !p.any)
			empty_result_explain(&args, 1u << METRIC_CPU | 1u << METRIC_WALL,
					     p.any_poll ? "no sample is in a poll of that length"
							: "no poll with a sample was recorded (see "
							  "asprof_agent.h), and no stall (see "
							  "ASPROF_AGENT_STALLS)");
		if (args.summary) {
			terminal_start_pager();
			if (p.room)
				qsort(p.functions, p.room, sizeof(*p.functions), compare_poll_time);
			(args.json ? print_summary_json : print_summary)(&p);
		}
	}
	raw_stack_free(&p.stack);
	polls_free(&p.polls);
	polls_free(&p.stalls);
	intern_free(&p.names);
	intern_free(&p.seen);
	free(p.functions);
	args_free(&args);
	return status;
}
