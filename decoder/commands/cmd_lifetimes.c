/* lifetimes: how long allocations lived, by stack, and the stacks of short-lived ones. */
#include "decoder/commands/args.h"
#include "decoder/commands/empty_result.h"
#include "decoder/commands/command_input.h"
#include "decoder/commands/top_table.h"
#include "decoder/output/message.h"
#include "decoder/output/terminal.h"
#include "profile/aggregate/heap.h"
#include "profile/basics/text.h"

#include <stdlib.h>

#define DEFAULT_LIMIT 10
#define DEFAULT_DEPTH 6

/* Number of buckets, one per power of ten, up to 1 ms. */
#define SHORT_BUCKETS 4

static const struct command_option own_options[] = {
	{ "-n", "N", "stacks to show in each list (10; 0: all)", ARG_COUNT,
	  offsetof(struct args, limit) },
	{ "--stack-depth", "N", "frames to show of each (6; 0: all)", ARG_COUNT,
	  offsetof(struct args, stack_depth) },
	{ "--raw", NULL, "count a memory sample as one, not by its weight", ARG_NO_FLAG,
	  offsetof(struct args, query.weighted) },
	{ "--full-names", NULL, "names in full length", ARG_FLAG,
	  offsetof(struct args, full_names) },
	{ "--json", NULL, "print JSON", ARG_FLAG, offsetof(struct args, json) },
	{ 0 },
};

const struct command_option *const lifetimes_options[] = {
	own_options, args_filters, args_period,  args_sources, args_trace,
	args_bucket, args_names,   args_reading, NULL,
};

static const char *const limits[LIFE_BUCKETS] = { "1us", "10us", "100us", "1ms",   "10ms", "100ms",
						  "1s",  "10s",  "100s",  "1000s", "more" };

struct row {
	uint32_t stack;
	double freed, short_bytes, short_count;
	const struct heap_stack *counts;
};

struct lives {
	const struct args *args;
	const struct heap *heap;
	struct row *rows;
	uint32_t count;
};

/* Order by weight, the largest first, and then by the stack's number. */
static int compare_weight(const struct row *x, const struct row *y, double weight_x,
			  double weight_y)
{
	if (weight_x != weight_y)
		return weight_x < weight_y ? 1 : -1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static int compare_count(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return compare_weight(x, y, x->counts->allocated, y->counts->allocated);
}

static int compare_short_bytes(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return compare_weight(x, y, x->short_bytes, y->short_bytes);
}

static int lives_collect(struct lives *l)
{
	const struct heap *h = l->heap;

	l->rows = calloc((size_t)h->stack_capacity + 1, sizeof(*l->rows));
	if (!l->rows)
		return -1;
	for (uint32_t i = 0; i < h->stack_capacity; i++) {
		const struct heap_stack *s = &h->stacks[i];
		struct row *row = &l->rows[l->count];

		if (s->allocated < 0.5)
			continue;
		row->stack = i;
		row->counts = s;
		for (unsigned k = 0; k < LIFE_BUCKETS; k++) {
			row->freed += s->freed[k];
			row->short_count += k < SHORT_BUCKETS ? s->freed[k] : 0;
			row->short_bytes += k < SHORT_BUCKETS ? s->freed_bytes[k] : 0;
		}
		l->count++;
	}
	return 0;
}

static void print_histogram(const struct lives *l, const struct row *row)
{
	static const char bar[] = "########################################";
	char count[TEXT_NUMBER], bytes[TEXT_NUMBER];
	double living = row->counts->allocated - row->freed, most = living;

	printf("\n%s allocations, %s\n", text_count(count, row->counts->allocated),
	       text_bytes(bytes, row->counts->allocated_bytes));
	top_print_stack(&l->heap->profile, row->stack, l->args, 0, false);
	for (unsigned k = 0; k < LIFE_BUCKETS; k++)
		if (row->counts->freed[k] > most)
			most = row->counts->freed[k];
	for (unsigned k = 0; k <= LIFE_BUCKETS; k++) {
		double n = k < LIFE_BUCKETS ? row->counts->freed[k] : living;

		if (n < 0.5)
			continue;
		printf("  %s %5s %8s %.*s\n", k < LIFE_BUCKETS - 1 ? "<" : " ",
		       k < LIFE_BUCKETS ? limits[k] : "lives", text_count(count, n),
		       (int)(n / most * 40), bar);
	}
}

static void lifetimes_print_text(struct lives *l)
{
	char count[TEXT_NUMBER], bytes[TEXT_NUMBER];

	puts("Lifetimes by stack");
	for (uint32_t i = 0; i < args_limit(l->args, l->count); i++)
		print_histogram(l, &l->rows[i]);
	if (!l->count)
		puts("no native allocations in these recordings");
	qsort(l->rows, l->count, sizeof(*l->rows), compare_short_bytes);
	puts("\nTemporaries: freed within 1 ms");
	for (uint32_t i = 0; i < args_limit(l->args, l->count) && l->rows[i].short_count >= 0.5;
	     i++) {
		const struct row *row = &l->rows[i];

		printf("\n%10s  %s allocations, %.0f%% of this stack's\n",
		       text_bytes(bytes, row->short_bytes), text_count(count, row->short_count),
		       100 * row->short_count / row->counts->allocated);
		top_print_stack(&l->heap->profile, row->stack, l->args, 0, false);
	}
}

static void print_json_row(const struct lives *l, const struct row *row)
{
	printf("{\"count\":%.0f,\"bytes\":%.0f,\"alive\":%.0f,\"short_count\":%.0f,"
	       "\"short_bytes\":%.0f,\"freed\":{",
	       row->counts->allocated, row->counts->allocated_bytes,
	       row->counts->allocated - row->freed, row->short_count, row->short_bytes);
	for (unsigned k = 0; k < LIFE_BUCKETS; k++)
		printf("%s\"%s\":%.0f", k ? "," : "", limits[k], row->counts->freed[k]);
	printf("},\"stack\":");
	profile_stack_json(stdout, &l->heap->profile, row->stack);
	putchar('}');
}

static void lifetimes_print_json(const struct lives *l)
{
	printf("{\"stacks\":[");
	for (uint32_t i = 0; i < args_limit(l->args, l->count); i++) {
		printf("%s", i ? "," : "");
		print_json_row(l, &l->rows[i]);
	}
	printf("],\"losses\":");
	losses_json(stdout, &l->heap->profile.losses);
	printf("}\n");
}

int cmd_lifetimes(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct heap heap = { .want_stacks = true };
	struct lives lives = { .args = &args, .heap = &heap };
	int status;

	args.limit = DEFAULT_LIMIT;
	args.stack_depth = DEFAULT_DEPTH;
	status = args_parse(&args, argc, argv, lifetimes_options);
	if (status == COMMAND_OK) {
		status = command_read_heap(&heap, &args);
		if (lives_collect(&lives)) {
			message_print("out of memory");
			status = COMMAND_FAILED;
		} else {
			qsort(lives.rows, lives.count, sizeof(*lives.rows), compare_count);
			terminal_start_pager();
			if (args.json)
				lifetimes_print_json(&lives);
			else
				lifetimes_print_text(&lives);
			if (status == COMMAND_OK && !lives.count &&
			    empty_result_explain(&args, 1u << METRIC_MALLOC,
						 "nothing was allocated"))
				status = COMMAND_FAILED;
		}
	}
	free(lives.rows);
	heap_free(&heap);
	args_free(&args);
	return status;
}
