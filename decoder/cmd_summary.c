/* summary: what is in the recordings. */
#include "decoder/args.h"
#include "decoder/commands.h"
#include "decoder/feed.h"
#include "decoder/profile.h"
#include "decoder/resolve.h"
#include "decoder/room.h"
#include "decoder/say.h"
#include "decoder/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct command_option summary_options[] = {
	{ "--json", NULL, "print JSON", ARG_FLAG, offsetof(struct args, json) },
	{ "--jobs", "N", "threads to read with (one for each processor)", ARG_COUNT,
	  offsetof(struct args, jobs) },
	{ "--zip", NULL, "ignored: a zip is known by its content", ARG_IGNORED, 0 },
	{ 0 },
};

struct count {
	const char *name;
	uint64_t events, bytes;
};

/* Of what is lost, as the fields of asprof.Losses, and what to call it. */
static const struct {
	const char *field, *text;
} causes[] = {
	{ "ringFull", "samples: taken faster than they could be collected" },
	{ "eventsDropped", "events: not written, for want of memory or room" },
	{ "stackTableFull", "stacks: too many different ones" },
	{ "threadTableFull", "thread names: too many threads" },
	{ "tableEvictions", "living allocations: too many at once to be followed" },
	{ "timerFailures", "threads: no timer could be set" },
};

#define CAUSES (sizeof(causes) / sizeof(causes[0]))

/* What one thread has read; names are interned in profile.names. */
struct worker {
	const struct args *args;
	struct profile profile;
	struct count *types; /* by number of the name */
	uint32_t room;
	uint64_t chunks, bytes, lost[CAUSES];
	bool losses_told;
	struct intern engines;
	struct settings settings;
	bool failed;
};

static struct count *type_at(struct worker *w, const char *name)
{
	uint32_t id = intern_string(&w->profile.names, name);
	struct count *types = room_for(w->types, &w->room, id, sizeof(*types));

	if (!types)
		return NULL;
	w->types = types;
	w->types[id].name = intern_text(&w->profile.names, id);
	return &w->types[id];
}

/* Told by the builtin engine. */
static void add_losses(struct worker *w, const struct jfr_chunk *chunk,
		       const struct jfr_event *event)
{
	struct jfr_value value;

	w->losses_told = true;
	for (size_t i = 0; i < CAUSES; i++)
		if (jfr_event_get(chunk, event, causes[i].field, &value))
			w->lost[i] += (uint64_t)jfr_long(&value);
}

static void count_events(struct worker *w, struct resolve *resolve, struct settings *settings)
{
	struct jfr_chunk *chunk = resolve->chunk;
	struct count *counts = calloc(chunk->type_count + 1, sizeof(*counts)), *sum;
	struct jfr_event event;
	struct jfr_scan scan;
	size_t index;

	jfr_scan(&scan, chunk, ~0u);
	while (counts && jfr_next(&scan, &event)) {
		index = event.type ? (size_t)(event.type - chunk->types) : chunk->type_count;
		counts[index].events++;
		counts[index].bytes += event.size;
		if (event.kind == JFR_SETTING)
			settings_read(settings, chunk, &event);
		else if (event.kind == JFR_LOSSES)
			add_losses(w, chunk, &event);
		else if (event.kind != JFR_OTHER && event.slot[JFR_THREAD])
			resolve_thread(resolve, (uint64_t)event.slot[JFR_THREAD]);
	}
	for (size_t i = 0; counts && i <= chunk->type_count; i++) {
		if (!counts[i].events)
			continue;
		sum = type_at(w, i < chunk->type_count ? chunk->types[i].name
						       : "(metadata and constants)");
		w->failed |= !sum;
		if (sum) {
			sum->events += counts[i].events;
			sum->bytes += counts[i].bytes;
		}
	}
	w->failed |= !counts;
	free(counts);
}

static void note_engine(struct worker *w, const struct settings *settings)
{
	char text[96];

	if (!settings->engine[0] && !settings->version[0])
		return;
	snprintf(text, sizeof(text), "%s%s%s", settings->engine,
		 settings->engine[0] && settings->version[0] ? " " : "", settings->version);
	intern_string(&w->engines, text);
	w->settings = *settings;
}

static void read_chunk(struct worker *w, struct feed *feed, struct feed_chunk *from)
{
	struct jfr_chunk chunk;
	struct resolve resolve;
	int err = jfr_chunk_open(&chunk, from->data, &from->header);

	if (err) {
		w->failed |= err != -EBADMSG;
		if (err == -EBADMSG)
			feed_damage(feed, from, &chunk.error);
		return;
	}
	chunk.mapped = true;
	w->chunks++;
	w->bytes += from->header.size;
	profile_spans(&w->profile, &from->header);
	resolve_open(&resolve, &w->profile, w->args, &chunk, from);
	count_events(w, &resolve, &from->settings);
	if (chunk.error.what)
		feed_damage(feed, from, &chunk.error);
	note_engine(w, &from->settings);
	resolve_close(&resolve);
	jfr_chunk_close(&chunk);
}

static void work(struct feed *feed, void *state)
{
	struct feed_chunk from;

	while (feed_next(feed, &from)) {
		read_chunk(state, feed, &from);
		feed_done(feed, &from);
	}
}

static void merge(struct worker *into, struct worker *from)
{
	struct count *sum;

	for (uint32_t i = 0; i < from->room; i++) {
		if (!from->types[i].events)
			continue;
		sum = type_at(into, from->types[i].name);
		into->failed |= !sum;
		if (sum) {
			sum->events += from->types[i].events;
			sum->bytes += from->types[i].bytes;
		}
	}
	for (uint32_t id = 1; id <= from->profile.threads.count; id++) {
		struct thread_key key =
			*(const struct thread_key *)intern_key(&from->profile.threads, id);

		if (key.name)
			key.name = intern_string(&into->profile.names,
						 intern_text(&from->profile.names, key.name));
		if (key.labels)
			key.labels = intern_string(&into->profile.names,
						   intern_text(&from->profile.names, key.labels));
		intern(&into->profile.threads, &key, sizeof(key));
	}
	for (uint32_t id = 1; id <= from->engines.count; id++)
		intern_string(&into->engines, intern_text(&from->engines, id));
	if (from->settings.engine[0] && !into->settings.engine[0])
		into->settings = from->settings;
	into->chunks += from->chunks;
	into->bytes += from->bytes;
	for (size_t i = 0; i < CAUSES; i++)
		into->lost[i] += from->lost[i];
	into->losses_told |= from->losses_told;
	into->failed |= from->failed;
	if (from->profile.start_ns < into->profile.start_ns)
		into->profile.start_ns = from->profile.start_ns;
	if (from->profile.end_ns > into->profile.end_ns)
		into->profile.end_ns = from->profile.end_ns;
}

static int more_events(const void *a, const void *b)
{
	const struct count *x = a, *y = b;

	if (x->events != y->events)
		return x->events < y->events ? 1 : -1;
	return x->name && y->name ? strcmp(x->name, y->name) : 0;
}

static void print_interval(const char *name, int64_t value, const char *unit)
{
	char number[TEXT_NUMBER];

	if (value > 0)
		printf("%s %s", name, text_amount(number, (double)value, unit));
}

static void print_losses(const struct worker *w)
{
	const char *title = "Lost";

	for (size_t i = 0; i < CAUSES; i++)
		if (w->lost[i]) {
			printf("%-9s %" PRIu64 " %s\n", title, w->lost[i], causes[i].text);
			title = "";
		}
	if (*title)
		printf("%-9s %s\n", title, w->losses_told ? "nothing" : "not told by this engine");
}

static int by_thread(const void *a, const void *b, void *arg)
{
	return profile_thread_order(arg, *(const uint32_t *)a, *(const uint32_t *)b);
}

/* The numbers of all threads in an order that does not hang on who read what first. */
static uint32_t *sorted_threads(struct worker *w)
{
	uint32_t count = w->profile.threads.count;
	uint32_t *ids = calloc((size_t)count + 1, sizeof(*ids));

	for (uint32_t i = 0; ids && i < count; i++)
		ids[i] = i + 1;
	if (ids)
		qsort_r(ids, count, sizeof(*ids), by_thread, &w->profile);
	return ids;
}

static void print_text(const struct worker *w, const uint32_t *threads)
{
	const struct profile *p = &w->profile;
	char number[TEXT_NUMBER];
	char name[256];

	printf("Start     %s\n", text_time(number, p->start_ns));
	printf("Span      %s, ", text_duration(number, (double)(p->end_ns - p->start_ns)));
	printf("%" PRIu64 " chunk%s, %s\n", w->chunks, w->chunks == 1 ? "" : "s",
	       text_bytes(number, (double)w->bytes));
	for (uint32_t id = 1; id <= w->engines.count; id++)
		printf("Engine    %s\n", intern_text(&w->engines, id));
	if (w->settings.cpu_interval_ns || w->settings.wall_interval_ns) {
		printf("Sampled   ");
		print_interval("cpu", w->settings.cpu_interval_ns, "nanoseconds");
		print_interval(w->settings.cpu_interval_ns > 0 ? ", wall" : "wall",
			       w->settings.wall_interval_ns, "nanoseconds");
		print_interval(", native memory", w->settings.mem_interval, "bytes");
		putchar('\n');
	}
	print_losses(w);
	printf("\n    events       bytes  type\n");
	for (uint32_t i = 0; i < w->room && w->types[i].events; i++)
		printf("%10" PRIu64 "  %10s  %s\n", w->types[i].events,
		       text_bytes(number, (double)w->types[i].bytes), w->types[i].name);
	printf("\nThreads   %u\n", p->threads.count);
	for (uint32_t i = 0; i < p->threads.count; i++) {
		profile_thread_name(p, threads[i], name, sizeof(name));
		printf("  %s\n", name);
	}
}

static void print_json(const struct worker *w, const uint32_t *threads)
{
	const struct profile *p = &w->profile;
	char number[TEXT_NUMBER], name[256];

	printf("{\"start\":\"%s\",\"start_ms\":%" PRId64 ",\"end_ms\":%" PRId64
	       ",\"seconds\":%.3f,\"chunks\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"engines\":[",
	       text_time(number, p->start_ns), p->start_ns / 1000000, p->end_ns / 1000000,
	       (double)(p->end_ns - p->start_ns) / 1e9, w->chunks, w->bytes);
	for (uint32_t id = 1; id <= w->engines.count; id++) {
		printf("%s", id > 1 ? "," : "");
		json_string(stdout, intern_text(&w->engines, id));
	}
	printf("],\"cpu_interval_ns\":%" PRId64 ",\"wall_interval_ns\":%" PRId64
	       ",\"native_mem_bytes\":%" PRId64 ",\"lost\":{",
	       w->settings.cpu_interval_ns, w->settings.wall_interval_ns, w->settings.mem_interval);
	for (size_t i = 0; w->losses_told && i < CAUSES; i++)
		printf("%s\"%s\":%" PRIu64, i ? "," : "", causes[i].field, w->lost[i]);
	printf("},\"events\":{");
	for (uint32_t i = 0; i < w->room && w->types[i].events; i++) {
		printf("%s", i ? "," : "");
		json_string(stdout, w->types[i].name);
		printf(":{\"count\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", w->types[i].events,
		       w->types[i].bytes);
	}
	printf("},\"threads\":[");
	for (uint32_t i = 0; i < p->threads.count; i++) {
		profile_thread_name(p, threads[i], name, sizeof(name));
		printf("%s", i ? "," : "");
		json_string(stdout, name);
	}
	printf("]}\n");
}

static void worker_free(struct worker *w)
{
	profile_free(&w->profile);
	intern_free(&w->engines);
	free(w->types);
}

static int summarize(const struct args *args, struct feed *feed)
{
	unsigned jobs = feed_jobs(feed, args->jobs);
	struct worker *workers = calloc(jobs, sizeof(*workers));
	int status = COMMAND_OK;
	uint32_t *threads;

	if (!workers)
		return COMMAND_FAILED;
	for (unsigned i = 0; i < jobs; i++)
		workers[i] = (struct worker){ .args = args, .profile = PROFILE_INIT };
	feed_run(feed, jobs, work, workers, sizeof(*workers));
	for (unsigned i = 1; i < jobs; i++)
		merge(&workers[0], &workers[i]);
	if (workers[0].room)
		qsort(workers[0].types, workers[0].room, sizeof(*workers[0].types), more_events);
	threads = sorted_threads(&workers[0]);
	if (threads && workers[0].chunks && args->json)
		print_json(&workers[0], threads);
	else if (threads && workers[0].chunks)
		print_text(&workers[0], threads);
	free(threads);
	if (!threads || workers[0].failed) {
		say("out of memory");
		status = COMMAND_FAILED;
	}
	for (unsigned i = 0; i < jobs; i++)
		worker_free(&workers[i]);
	free(workers);
	return status;
}

int cmd_summary(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct feed *feed = NULL;
	int status = args_parse(&args, argc, argv, summary_options, NULL);

	if (status == COMMAND_OK && feed_open(&feed, args.files, args.file_count, false)) {
		say("out of memory");
		status = COMMAND_FAILED;
	}
	if (feed) {
		status = summarize(&args, feed);
		if (feed_failed(feed))
			status = COMMAND_FAILED;
		feed_close(feed);
	}
	args_free(&args);
	return status;
}
