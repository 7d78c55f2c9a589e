/* Any bytes as a recording: all operations of the commands on chunks, events and constants. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "decoder/output/raw_stack.h"
#include "decoder/output/message.h"
#include "profile/aggregate/heap_order.h"
#include "profile/aggregate/memory_feed.h"
#include "profile/aggregate/resolve.h"
#include "profile/aggregate/tree.h"
#include "profile/flamegraph/flamegraph_write.h"
#include "profile/export/export.h"
#include "profile/jfr/polls.h"
#include "profile/otlp/otlp_file.h"
#include "profile/timed/timed_profile.h"
#include "profile/timeline/timeline.h"
#include "profile/waits/owner_stacks.h"
#include "profile/waits/thread_times.h"
#include "profile/waits/wait_chains.h"
#include "profile/waits/wait_groups.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool visit(void *arg, const struct jfr_event *event)
{
	*(int64_t *)arg += event->slot[JFR_ADDRESS];
	return true;
}

static void read_events(struct jfr_chunk *chunk, struct resolve *resolve, struct settings *settings)
{
	struct raw_stack stack = RAW_STACK_INIT;
	struct jfr_event event;
	struct jfr_scan scan;
	uint32_t id, thread;
	int left = 200; /* deep stacks of every event would only be slow */

	jfr_scan_start(&scan, chunk, ~0u);
	while (jfr_scan_next(&scan, &event)) {
		if (event.kind == JFR_SETTING)
			settings_read_event(settings, chunk, &event);
		if (event.kind == JFR_OTHER)
			continue;
		resolve_is_cpu(resolve, &event);
		thread = resolve_thread(resolve, (uint64_t)event.slot[JFR_THREAD]);
		id = resolve_stack(resolve, (uint64_t)event.slot[JFR_STACK],
				   (uint64_t)event.slot[JFR_CLASS], JFR_FRAME_INLINED);
		profile_add(resolve->profile, id, thread, METRIC_CPU, 1, 1);
		if (left-- > 0)
			raw_stack_read(&stack, chunk, &event);
	}
	raw_stack_free(&stack);
}

/* Write a flame graph or a heatmap of the recording, to /dev/null. */
static void write_page(struct profile *profile, uint64_t choice)
{
	struct flamegraph graph = { .profile = profile,
				    .metric = METRIC_CPU,
				    .min_share = choice & 4 ? 0.1 : 0,
				    .row_ms = choice & 8 ? 20 : 0,
				    .column_ms = 1000,
				    .title = "fuzz" };
	FILE *file = fopen("/dev/null", "w");

	for (uint32_t i = 0; i < profile->count; i++)
		profile->samples[i].time_ms = (int64_t)(i * UINT64_C(0x9E3779B97F4A7C15));
	if (file) {
		flamegraph_write(file, &graph);
		fclose(file);
	}
}

static void read_chunk(const uint8_t *data, const struct jfr_header *header)
{
	struct feed_chunk from = { .file = "a_1_2.jfr", .data = data, .header = *header };
	const uint32_t memory = JFR_MASK(JFR_MALLOC) | JFR_MASK(JFR_FREE);
	struct query query = QUERY_INIT;
	struct profile profile = PROFILE_INIT;
	struct polls polls = POLLS_INIT;
	struct tree tree = { 0 };
	struct jfr_chunk chunk;
	struct resolve resolve;
	struct runs runs;
	int64_t sum = 0;

	if (jfr_chunk_open(&chunk, data, header))
		return;
	query.lines = header->size & 1;
	query.places = header->size & 2;
	query.simple = query.lines;
	resolve_open(&resolve, &profile, &query, &chunk, &from);
	read_events(&chunk, &resolve, &from.settings);
	if (!runs_find(&runs, &chunk, memory))
		runs_merge(&runs, &chunk, memory, visit, &sum);
	runs_free(&runs);
	polls_read(&polls, &chunk);
	polls_find_at(&polls, 1, sum);
	polls_free(&polls);
	if (!tree_add(&tree, &profile, METRIC_CPU, false, true))
		tree_sort(&tree, &profile);
	write_page(&profile, header->size);
	tree_free(&tree);
	resolve_close(&resolve);
	profile_free(&profile);
	jfr_chunk_close(&chunk);
}

static int make_file(void)
{
	return memfd_create("fuzz", MFD_CLOEXEC);
}

/* Write all exports to /dev/null. */
static void write_exports(const uint8_t *data, size_t size)
{
	struct timed_store store = { .profile = PROFILE_INIT, .fd = -1 };
	struct libraries libraries = { 0 };
	struct query query = QUERY_INIT;
	struct memory_feed feed;
	FILE *file = fopen("/dev/null", "w");

	memory_feed_init(&feed, data, size);
	query.contexts = true;
	if (file && timed_store_read(&store, &query, &feed.feed, ~1u, make_file) != -ENOMEM) {
		speedscope_write(file, &store, "fuzz");
		firefox_write(file, &store, "fuzz");
		perfetto_write(file, &store);
		otlp_file_write(file, &store, &libraries);
	}
	if (file)
		fclose(file);
	timed_store_free(&store);
}

/* Write the page of a timeline to /dev/null. */
static void write_timeline(const uint8_t *data, size_t size)
{
	struct timed_profile timed;
	struct query query = QUERY_INIT;
	struct memory_feed feed;
	struct timeline timeline;
	struct flamegraph graph = { .profile = &timed.profile,
				    .metric = METRIC_WALL,
				    .by_total = size & 1,
				    .title = "fuzz",
				    .part = &timeline.part };
	FILE *file = fopen("/dev/null", "w");

	memory_feed_init(&feed, data, size);
	query.contexts = true;
	query.waits = WAIT_PARTS_KIND;
	query.wait_guesses = true;
	timed_profile_read(&timed, &query, &feed.feed, METRIC_WALL, 1000);
	timeline_init(&timeline, &timed, METRIC_WALL);
	graph.row_ms = graph.column_ms = (uint32_t)timed.row_ms;
	if (file) {
		flamegraph_write(file, &graph);
		fclose(file);
	}
	timed_profile_free(&timed);
}

static void group_waits(const struct profile *profile, enum wait_by by)
{
	struct wait_owner *owners;
	struct wait_groups groups;
	uint32_t count;
	double unknown;

	if (!wait_groups_make(&groups, profile, by, 0, 0) && groups.count &&
	    !wait_owners_list(&groups, groups.list[0].id, &owners, &count, &unknown))
		free(owners);
	wait_groups_free(&groups);
}

/* Read a recording as the command waits does. */
static void read_waits(const uint8_t *data, size_t size)
{
	struct thread_times times = { 0 };
	struct query query = QUERY_INIT;
	struct profile profile = PROFILE_INIT;
	struct wait_chains chains;
	struct memory_feed feed;

	query.waits = WAIT_PARTS_OWNER;
	query.jobs = 1;
	memory_feed_init(&feed, data, size);
	profile_read(&profile, &query, &feed.feed, 1u << METRIC_WALL);
	thread_times_read(&times, &profile, &query, &feed.feed);
	thread_times_scale(&times, &profile);
	owner_stacks_spread(&profile);
	for (enum wait_by by = WAIT_BY_CAUSE; by < WAIT_BYS; by++)
		group_waits(&profile, by);
	if (!wait_chains_make(&chains, &profile))
		for (uint32_t number = 1; number <= chains.deadlocks; number++)
			wait_chains_first(&chains, number);
	wait_chains_free(&chains);
	owner_stacks_append(&profile);
	thread_times_free(&times);
	profile_free(&profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A separate block, so that a read past its end is detected. */
	uint8_t *copy = malloc(size + 1);
	struct jfr_error error = { 0 };
	struct jfr_header header;

	message_disabled = true;
	memcpy(copy, data, size);
	for (uint64_t offset = 0; !jfr_header_read(&header, copy, size, offset, &error);
	     offset += header.size)
		read_chunk(copy, &header);
	write_exports(copy, size);
	write_timeline(copy, size);
	read_waits(copy, size);
	free(copy);
	return 0;
}
