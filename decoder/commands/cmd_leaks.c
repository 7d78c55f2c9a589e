/* leaks: memory that was not freed by the end of all files, by stack. heap_visit_held() decides what counts. */
#include "decoder/commands/args.h"
#include "decoder/commands/empty_result.h"
#include "decoder/commands/command_input.h"
#include "decoder/commands/top_table.h"
#include "decoder/output/message.h"
#include "decoder/output/terminal.h"
#include "profile/aggregate/heap.h"
#include "profile/basics/array.h"
#include "profile/basics/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT 10
#define DEFAULT_DEPTH 12
#define HOUR_NS       3600e9

static const struct command_option own_options[] = {
	{ "-n", "N", "stacks to show (10; 0: all)", ARG_COUNT, offsetof(struct args, limit) },
	{ "--stack-depth", "N", "frames to show of each (12; 0: all)", ARG_COUNT,
	  offsetof(struct args, stack_depth) },
	{ "--min-age", "TIME", "only older allocations, such as 30s", ARG_DURATION,
	  offsetof(struct args, min_ns) },
	{ "--raw", NULL, "count a memory sample as one, not by its weight", ARG_NO_FLAG,
	  offsetof(struct args, query.weighted) },
	{ "--full-names", NULL, "names in full length", ARG_FLAG,
	  offsetof(struct args, full_names) },
	{ "--json", NULL, "print JSON", ARG_FLAG, offsetof(struct args, json) },
	{ 0 },
};

const struct command_option *const leaks_options[] = {
	own_options, args_filters, args_period,  args_sources, args_trace,
	args_bucket, args_names,   args_reading, NULL,
};

struct leak {
	uint32_t stack;
	double count, bytes, growth; /* growth: bytes per nanosecond */
	int64_t oldest_ns, growth_ns;
};

struct leaks {
	const struct args *args;
	const struct heap *heap;
	struct leak *list; /* indexed by stack until it is sorted */
	uint32_t count, room;
	double bytes, allocations;
	uint8_t *seen; /* by process number */
	uint32_t seen_room, processes;
	uint32_t from_engine; /* processes whose engine wrote snapshots */
	bool out_of_memory;
};

/* Grow the list to all known stacks. */
static int leaks_grow_list(struct leaks *l)
{
	uint32_t room = l->heap->profile.stacks.count + 1;
	struct leak *list = realloc(l->list, room * sizeof(*list));

	if (!list) {
		l->out_of_memory = true;
		return -1;
	}
	for (; l->room < room; l->room++)
		list[l->room] = (struct leak){ .stack = l->room };
	l->list = list;
	return 0;
}

static void leaks_count_process(struct leaks *l, uint32_t process)
{
	if (array_reserve(&l->seen, &l->seen_room, process, sizeof(*l->seen))) {
		l->out_of_memory = true;
		return;
	}
	l->processes += !l->seen[process];
	l->from_engine += !l->seen[process] && heap_process_has_snapshot(l->heap, process);
	l->seen[process] = 1;
}

static void leaks_add_held(void *arg, const struct held *held)
{
	struct leaks *l = arg;
	struct leak *leak = &l->list[held->stack];

	if (held->age_ns < (int64_t)l->args->min_ns)
		return;
	leak->count += held->count;
	leak->bytes += held->bytes;
	if (held->growth_ns > 0)
		leak->growth += held->grown / (double)held->growth_ns;
	if (held->growth_ns > leak->growth_ns)
		leak->growth_ns = held->growth_ns;
	if (held->count <= 0)
		return;
	leaks_count_process(l, held->process);
	if (held->age_ns > leak->oldest_ns)
		leak->oldest_ns = held->age_ns;
}

static void leaks_add_part(void *arg)
{
	struct leaks *l = arg;

	if (!leaks_grow_list(l))
		heap_visit_held(l->heap, leaks_add_held, l);
}

static int compare_leak_bytes(const void *a, const void *b)
{
	const struct leak *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Returns the number in KEYS of STACK's function names, as they are shown; 0 when out of memory. Stacks that differ in
 * compilation type or library have the same number. */
static uint32_t leaks_intern_shown_stack(const struct leaks *l, struct intern *keys,
					 struct buf *names, uint32_t stack)
{
	const struct profile *p = &l->heap->profile;
	const uint32_t *frames = intern_key(&p->stacks, stack);
	uint32_t depth = intern_length(&p->stacks, stack) / sizeof(*frames);

	buf_reset(names);
	for (uint32_t i = 0; i < depth; i++)
		if (buf_append(names, &profile_frame(p, frames[i])->name, sizeof(uint32_t)))
			return 0;
	return intern(keys, names->data, names->length);
}

static void leak_merge(struct leak *into, struct leak *from)
{
	if (from->bytes > into->bytes) /* the heavier one is shown */
		into->stack = from->stack;
	into->count += from->count;
	into->bytes += from->bytes;
	into->growth += from->growth;
	if (from->oldest_ns > into->oldest_ns)
		into->oldest_ns = from->oldest_ns;
	if (from->growth_ns > into->growth_ns)
		into->growth_ns = from->growth_ns;
	*from = (struct leak){ .stack = from->stack };
}

/* Merge stacks that look the same in the output. Returns 0, or -1 when out of memory. */
static int leaks_merge_same(struct leaks *l)
{
	uint32_t *first = calloc((size_t)l->room + 1, sizeof(*first)); /* index + 1 in the list */
	struct buf names = BUF_INIT(1u << 20);
	struct intern keys = INTERN_INIT;
	int err = first ? 0 : -1;

	for (uint32_t i = 0; i < l->room && !err; i++) {
		uint32_t key = leaks_intern_shown_stack(l, &keys, &names, l->list[i].stack);

		if (!key)
			err = -1;
		else if (first[key])
			leak_merge(&l->list[first[key] - 1], &l->list[i]);
		else
			first[key] = i + 1;
	}
	free(first);
	buf_free(&names);
	intern_free(&keys);
	return err;
}

static int leaks_sort(struct leaks *l)
{
	if (leaks_grow_list(l) || l->out_of_memory) /* the list is incomplete */
		return -1;
	if (leaks_merge_same(l))
		return -1;
	qsort(l->list, l->room, sizeof(*l->list), compare_leak_bytes);
	for (l->count = 0; l->count < l->room && l->list[l->count].count > 0; l->count++) {
		l->bytes += l->list[l->count].bytes;
		l->allocations += l->list[l->count].count;
	}
	return 0;
}

/* Returns the growth without what rounding leaves of a sum of zero. */
static double bytes_per_hour(const struct leak *leak)
{
	double bytes = leak->growth * HOUR_NS;

	return fabs(bytes) < 0.5 ? 0 : bytes;
}

static void leaks_print_text(const struct leaks *l)
{
	char bytes[TEXT_NUMBER], count[TEXT_NUMBER], age[TEXT_NUMBER], per_hour[TEXT_NUMBER];
	unsigned width = text_terminal_width();

	printf("retained: %s%s in %s allocations, %u stack%s",
	       l->heap->profile.losses.allocations ? "at least " : "", text_bytes(bytes, l->bytes),
	       text_count(count, l->allocations), l->count, l->count == 1 ? "" : "s");
	if (l->processes > 1)
		printf(", %u processes", l->processes);
	if (l->from_engine == l->processes && l->from_engine)
		fputs(" (counted by the engine since its start)", stdout);
	else if (l->from_engine)
		printf(" (%u of them counted by the engine since its start)", l->from_engine);
	putchar('\n');
	for (uint32_t i = 0; i < args_limit(l->args, l->count); i++) {
		const struct leak *leak = &l->list[i];

		printf("\n%s%10s  %5.1f%%  %s allocations, oldest %s",
		       terminal_style(STYLE_HEADING), text_bytes(bytes, leak->bytes),
		       l->bytes > 0 ? 100 * leak->bytes / l->bytes : 0,
		       text_count(count, leak->count), text_duration(age, (double)leak->oldest_ns));
		if (leak->growth_ns)
			printf(", grows %s/h (over the last %s)",
			       text_bytes(per_hour, bytes_per_hour(leak)),
			       text_duration(age, (double)leak->growth_ns));
		puts(terminal_style(STYLE_NONE));
		top_print_stack(&l->heap->profile, leak->stack, l->args,
				width > 40 ? width - 30 : 0, true);
	}
	if (l->args->limit && l->count > l->args->limit)
		printf("\n... and %u more stacks (-n 0 shows all)\n", l->count - l->args->limit);
}

static void leaks_print_json(const struct leaks *l)
{
	const struct profile *p = &l->heap->profile;

	printf("{\"bytes\":%.0f,\"count\":%.0f,\"processes\":%u,"
	       "\"processes_from_engine\":%u,\"from_engine\":%s,\"leaks\":[",
	       l->bytes, l->allocations, l->processes, l->from_engine,
	       l->from_engine && l->from_engine == l->processes ? "true" : "false");
	for (uint32_t i = 0; i < args_limit(l->args, l->count); i++) {
		const struct leak *leak = &l->list[i];

		printf("%s{\"bytes\":%.0f,\"count\":%.0f,\"oldest_seconds\":%.3f,"
		       "\"bytes_per_hour\":%.0f,\"growth_seconds\":%.3f,\"stack\":",
		       i ? "," : "", leak->bytes, leak->count, (double)leak->oldest_ns / 1e9,
		       bytes_per_hour(leak), (double)leak->growth_ns / 1e9);
		profile_stack_json(stdout, p, leak->stack);
		putchar('}');
	}
	printf("],\"losses\":");
	losses_json(stdout, &p->losses);
	printf("}\n");
}

int cmd_leaks(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct leaks leaks = { .args = &args };
	struct heap heap = { .want_stacks = true, .on_part = leaks_add_part, .arg = &leaks };
	int status;

	args.limit = DEFAULT_LIMIT;
	args.stack_depth = DEFAULT_DEPTH;
	status = args_parse(&args, argc, argv, leaks_options);
	if (status == COMMAND_OK) {
		leaks.heap = &heap;
		heap.want_snapshots = args.query.weighted; /* a snapshot has no single samples */
		status = command_read_heap(&heap, &args);
		if (leaks_sort(&leaks)) {
			message_print("out of memory");
			status = COMMAND_FAILED;
		} else {
			terminal_start_pager();
			(args.json ? leaks_print_json : leaks_print_text)(&leaks);
		}
		if (status == COMMAND_OK && !leaks.count &&
		    empty_result_explain(&args, 1u << METRIC_LIVE,
					 "all allocations were freed, or are too recent"))
			status = COMMAND_FAILED;
	}
	free(leaks.list);
	free(leaks.seen);
	heap_free(&heap);
	args_free(&args);
	return status;
}
