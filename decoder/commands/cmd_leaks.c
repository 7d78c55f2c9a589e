/* leaks: what was allocated and not freed over all the files, by stack. */
#include "decoder/commands/args.h"
#include "decoder/commands/empty_result.h"
#include "decoder/commands/command_input.h"
#include "decoder/output/message.h"
#include "profile/aggregate/heap.h"
#include "profile/basics/names.h"
#include "profile/basics/text.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT 10
#define DEFAULT_DEPTH 12
#define HOUR_NS       3600e9

static const struct command_option own_options[] = {
	{ "-n", "N", "stacks to show (10; 0: all)", ARG_COUNT, offsetof(struct args, limit) },
	{ "--stack-depth", "N", "frames to show of each (12; 0: all)", ARG_COUNT,
	  offsetof(struct args, stack_depth) },
	{ "--min-age", "TIME", "only what is older than that, such as 30s", ARG_DURATION,
	  offsetof(struct args, min_ns) },
	{ "--raw", NULL, "count a memory sample as one, not by its weight", ARG_NO_FLAG,
	  offsetof(struct args, query.weighted) },
	{ "--full-names", NULL, "names as they are, however long", ARG_FLAG,
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
	double count, bytes, before; /* before: bytes at the first look, for the growth */
	double young;                /* bytes of single allocations of the later half of the time */
	int64_t oldest_ns;
};

struct leaks {
	const struct args *args;
	const struct heap *heap;
	struct leak *list; /* by stack until sorted */
	uint32_t count, room;
	int64_t first_ns, last_ns; /* the looks that are compared */
	double bytes, allocations;
	bool stated; /* from the engine's own statements, not from single events */
	bool out_of_memory;
};

static double scale_of(const struct leaks *l, const struct allocation *a)
{
	return l->args->query.weighted ? (double)a->scale : 1;
}

/* Room for all stacks that there are. */
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

static int64_t leaks_count_process(const struct heap *h)
{
	if (h->last_ns < h->first_ns) /* nothing was read */
		return h->first_ns;
	return h->first_ns + (h->last_ns - h->first_ns) / 2;
}

/* The living allocations of one part of the addresses. */
static void report_add_file(void *arg)
{
	struct leaks *l = arg;
	const struct heap *h = l->heap;

	if (leaks_grow_list(l))
		return;
	for (uint32_t i = 0; i < h->capacity; i++) {
		const struct allocation *a = &h->table[i];
		struct leak *leak = &l->list[a->stack];
		double scale = scale_of(l, a);

		if (!a->address || (uint64_t)(h->last_ns - a->birth_ns) < l->args->min_ns)
			continue;
		if (leak->count == 0 || a->birth_ns < leak->oldest_ns)
			leak->oldest_ns = a->birth_ns;
		leak->count += scale;
		leak->bytes += scale * (double)a->size;
		if (a->birth_ns >= leaks_count_process(h))
			leak->young += scale * (double)a->size;
	}
}

/* What the engine stated last, in place of the single allocations. */
static void take_statements(struct leaks *l)
{
	const struct heap *h = l->heap;

	l->stated = true;
	l->first_ns = h->first[0].time_ns;
	l->last_ns = INT64_MIN;
	for (uint32_t i = 0; i < l->room; i++)
		l->list[i].count = l->list[i].bytes = 0;
	for (uint32_t i = 0; i < h->last_count; i++) {
		const struct retained *r = &h->last[i];
		struct leak *leak = &l->list[r->stack];

		if (r->time_ns > l->last_ns)
			l->last_ns = r->time_ns;
		if (r->time_ns - r->oldest_ns < (int64_t)l->args->min_ns)
			continue;
		if (leak->count == 0 || r->oldest_ns < leak->oldest_ns)
			leak->oldest_ns = r->oldest_ns;
		leak->count += r->count;
		leak->bytes += r->bytes;
	}
	for (uint32_t i = 0; i < h->first_count; i++)
		l->list[h->first[i].stack].before += h->first[i].bytes;
}

static int compare_leak_bytes(const void *a, const void *b)
{
	const struct leak *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* The engine states what is retained since its start, by all threads: what a thread or what a later
 * time has left is told by single events alone. */
static bool states(const struct leaks *l)
{
	return l->heap->last_count && !l->args->query.thread.set && !l->args->query.from.kind;
}

static int leaks_sort(struct leaks *l)
{
	const struct heap *h = l->heap;

	if (leaks_grow_list(l) || l->out_of_memory) /* then some are missing */
		return -1;
	l->last_ns = h->last_ns;
	if (states(l))
		take_statements(l);
	/* One look only: what was born in the later half of the time seen is the growth. */
	if (!states(l) || l->first_ns >= l->last_ns) {
		l->first_ns = leaks_count_process(h);
		for (uint32_t i = 0; i < l->room; i++)
			l->list[i].before = l->list[i].bytes - l->list[i].young;
	}
	qsort(l->list, l->room, sizeof(*l->list), compare_leak_bytes);
	for (l->count = 0; l->count < l->room && l->list[l->count].count > 0; l->count++) {
		l->bytes += l->list[l->count].bytes;
		l->allocations += l->list[l->count].count;
	}
	return 0;
}

/* Bytes an hour; 0 where too little time was seen to tell. */
static double growth(const struct leaks *l, const struct leak *leak)
{
	double ns = (double)(l->last_ns - l->first_ns);

	return ns > 0 ? (leak->bytes - leak->before) / ns * HOUR_NS : 0;
}

/* The allocator and the profiler's hook around it say nothing. */
static uint32_t count_allocator_frames(const struct profile *p, const uint32_t *frames,
				       uint32_t depth)
{
	static const char *const ends[] = { "malloc_hook", "calloc_hook", "realloc_hook",
					    "memalign_hook", "aligned_alloc_hook" };
	const char *name;

	for (size_t i = 0; depth > 1 && i < sizeof(ends) / sizeof(ends[0]); i++) {
		name = profile_frame_name(p, frames[0]);
		if (strlen(name) >= strlen(ends[i]) &&
		    !strcmp(name + strlen(name) - strlen(ends[i]), ends[i]))
			return 1;
	}
	return 0;
}

static void print_stack(const struct leaks *l, uint32_t stack, unsigned width)
{
	const struct profile *p = &l->heap->profile;
	const uint32_t *frames = intern_key(&p->stacks, stack);
	uint32_t depth = intern_length(&p->stacks, stack) / sizeof(*frames);
	uint32_t skip = count_allocator_frames(p, frames, depth), shown = 0;

	for (uint32_t i = skip; i < depth; i++, shown++) {
		const struct frame *frame = profile_frame(p, frames[i]);

		if (l->args->stack_depth && shown == l->args->stack_depth) {
			printf("      ... %u more\n", depth - i);
			break;
		}
		fputs("      ", stdout);
		names_print(intern_text(&p->names, frame->name), width > 40 ? width - 30 : 0,
			    l->args->full_names);
		if (frame->module && frame->type >= JFR_FRAME_NATIVE)
			printf(" [%s]", intern_text(&p->names, frame->module));
		putchar('\n');
	}
	if (!depth)
		puts("      [no stack]");
}

static void leaks_print_text(const struct leaks *l)
{
	char bytes[TEXT_NUMBER], count[TEXT_NUMBER], age[TEXT_NUMBER], per_hour[TEXT_NUMBER];
	unsigned width = text_terminal_width();

	printf("retained: %s in %s allocations, %u stack%s%s\n", text_bytes(bytes, l->bytes),
	       text_count(count, l->allocations), l->count, l->count == 1 ? "" : "s",
	       l->stated ? " (as the engine states it, since its start)" : "");
	for (uint32_t i = 0; i < l->count && (!l->args->limit || i < l->args->limit); i++) {
		const struct leak *leak = &l->list[i];

		printf("\n%10s  %5.1f%%  %s allocations, oldest %s, grows %s/h\n",
		       text_bytes(bytes, leak->bytes),
		       l->bytes > 0 ? 100 * leak->bytes / l->bytes : 0,
		       text_count(count, leak->count),
		       text_duration(age, (double)(l->last_ns - leak->oldest_ns)),
		       text_bytes(per_hour, growth(l, leak)));
		print_stack(l, leak->stack, width);
	}
	if (l->args->limit && l->count > l->args->limit)
		printf("\n... and %u more stacks (-n 0 shows all)\n", l->count - l->args->limit);
}

static void leaks_print_json(const struct leaks *l)
{
	const struct profile *p = &l->heap->profile;

	printf("{\"bytes\":%.0f,\"count\":%.0f,\"from_engine\":%s,\"leaks\":[", l->bytes,
	       l->allocations, l->stated ? "true" : "false");
	for (uint32_t i = 0; i < l->count && (!l->args->limit || i < l->args->limit); i++) {
		const struct leak *leak = &l->list[i];

		printf("%s{\"bytes\":%.0f,\"count\":%.0f,\"oldest_seconds\":%.3f,"
		       "\"bytes_per_hour\":%.0f,\"stack\":",
		       i ? "," : "", leak->bytes, leak->count,
		       (double)(l->last_ns - leak->oldest_ns) / 1e9, growth(l, leak));
		profile_stack_json(stdout, p, leak->stack);
		putchar('}');
	}
	printf("]}\n");
}

int cmd_leaks(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct leaks leaks = { .args = &args };
	struct heap heap = { .want_stacks = true, .on_part = report_add_file, .arg = &leaks };
	int status;

	args.limit = DEFAULT_LIMIT;
	args.stack_depth = DEFAULT_DEPTH;
	status = args_parse(&args, argc, argv, leaks_options);
	if (status == COMMAND_OK) {
		leaks.heap = &heap;
		status = command_read_heap(&heap, &args);
		if (leaks_sort(&leaks)) {
			say("out of memory");
			status = COMMAND_FAILED;
		} else if (args.json) {
			leaks_print_json(&leaks);
		} else {
			leaks_print_text(&leaks);
		}
		if (status == COMMAND_OK && !leaks.count)
			empty_result_explain(&args, 1u << METRIC_LIVE,
					     "all that was allocated was freed, or is too young");
	}
	free(leaks.list);
	heap_free(&heap);
	args_free(&args);
	return status;
}
