/* Exported profiles, read back: each has all samples and marks of the recording. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/fd.h"
#include "engine/jfr/jfr_write.h"
#include "profile/aggregate/event_weight.h"
#include "profile/aggregate/memory_feed.h"
#include "profile/encode/proto_read.h"
#include "profile/export/export.h"
#include "profile/otlp/otlp_file.h"
#include "profile/timed/timed_profile.h"
#include "test/fixtures/suite.h"

#define SECOND  1000000000u
#define START   (1700000000u * (uint64_t)SECOND)
#define SAMPLES 5

static int make_file(void)
{
	return memfd_create("export", MFD_CLOEXEC);
}

static int name_frames(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		       struct jfr_frame_name *out)
{
	static const char *const names[] = { "", "leaf", "middle", "</script><b>\"root\"" };

	(void)context;
	(void)is_return;
	for (size_t i = 0; i < count; i++)
		out[i] = (struct jfr_frame_name){ .class_name = "program",
						  .method_name = names[pcs[i] % 4],
						  .type = JFR_FRAME_NATIVE };
	return 0;
}

/* Write a recording of two threads: samples, a span, a stall, a crash and losses. */
static void write_recording(int fd)
{
	static const uintptr_t deep[] = { 1, 2, 3 }, flat[] = { 2, 3 };
	static const struct jfr_losses losses = { .samples = 6, .ring_full = 2 };
	struct jfr_context context = { .labels = "route=/a\n", .length = 9 };
	struct jfr_writer *w;
	uint32_t stack, other, span;

	memset(context.trace_id, 0xab, sizeof(context.trace_id));
	memset(context.span_id, 0xcd, sizeof(context.span_id));
	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	jfr_writer_calibrated(w, SECOND);
	ck_assert_int_eq(jfr_chunk_begin(w, START, START), 0);
	jfr_setting(w, START, "event", "cpu");
	jfr_setting(w, START, "interval", "10000000");
	jfr_setting(w, START, "wall", "100000000");
	jfr_thread(w, 7, "worker");
	jfr_thread(w, 8, "sleeper");
	stack = jfr_stack(w, deep, 3, false);
	other = jfr_stack(w, flat, 2, false);
	span = jfr_context(w, &context);
	jfr_use_context(w, span);
	jfr_execution_sample(w, START + SECOND, 7, stack, JFR_STATE_DEFAULT);
	jfr_execution_sample(w, START + SECOND + 20000000, 7, stack, JFR_STATE_DEFAULT);
	jfr_use_context(w, 0);
	jfr_execution_sample(w, START + 2u * SECOND, 7, other, JFR_STATE_DEFAULT);
	jfr_wall_sample(w, START + SECOND, 7, other, JFR_STATE_RUNNABLE, 1, 0);
	jfr_wall_sample(w, START, 8, other, JFR_STATE_SLEEPING, 20, 2u * SECOND);
	jfr_stall(w, START + SECOND, 7, stack, SECOND / 2, 3);
	jfr_crash(w, START + 2u * SECOND, 7, stack, 11, 1, 0);
	jfr_losses(w, START + 2u * SECOND, &losses);
	ck_assert_int_eq(
		jfr_chunk_end(w, START + 3u * SECOND, START + 3u * SECOND, name_frames, NULL, NULL),
		0);
	jfr_writer_close(w);
}

static uint8_t *recording;
static size_t recording_length;

static void open_recording(struct memory_feed *feed)
{
	int fd = make_file();

	write_recording(fd);
	recording_length = (size_t)lseek(fd, 0, SEEK_END);
	recording = mmap(NULL, recording_length, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(recording, MAP_FAILED);
	close(fd);
	memory_feed_init(feed, recording, recording_length);
}

static void read_store(struct timed_store *store)
{
	struct query query = QUERY_INIT;
	struct memory_feed feed;

	query.contexts = true;
	open_recording(&feed);
	ck_assert_int_eq(timed_store_read(store, &query, &feed.feed, ~1u, make_file), 0);
}

static void release_store(struct timed_store *store)
{
	timed_store_free(store);
	munmap(recording, recording_length);
}

START_TEST(store_has_all)
{
	static const uint64_t counts[] = { 3, 1, 1 };
	static const enum metric metrics[] = { METRIC_CPU, METRIC_WALL, METRIC_WALL };
	struct timed_store store;
	unsigned kinds[TIMED_MARKS] = { 0 };

	read_store(&store);
	ck_assert_uint_eq(store.count, SAMPLES);
	ck_assert_uint_eq(store.group_count, 3);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(store.groups[i].to - store.groups[i].from, counts[i]);
		ck_assert_uint_eq(store.groups[i].metric, metrics[i]);
	}
	for (uint64_t i = 1; i < 3; i++)
		ck_assert_int_gt(store.samples[i].time_ns, store.samples[i - 1].time_ns);
	ck_assert_int_eq(store.samples[0].time_ns, (int64_t)(START + SECOND));
	ck_assert_int_eq(store.samples[0].duration_ns, 10000000);
	ck_assert(store.samples[4].is_sleeping && !store.samples[3].is_sleeping);
	ck_assert_int_eq(store.samples[4].duration_ns, 2100000000);
	for (size_t i = 0; i < store.mark_count; i++)
		kinds[store.marks[i].kind]++;
	ck_assert_uint_eq(kinds[TIMED_STALL], 1);
	ck_assert_uint_eq(kinds[TIMED_CRASH], 1);
	ck_assert_uint_eq(kinds[TIMED_LOSSES], 1);
	ck_assert_uint_eq(kinds[TIMED_REPORT], 1);
	ck_assert_uint_eq(kinds[TIMED_SPAN], 1);
	release_store(&store);
}
END_TEST

/* Beyond the limit, times are rounded; nothing is lost. */
START_TEST(profile_has_limit)
{
	struct query query = QUERY_INIT;
	struct timed_profile timed;
	struct memory_feed feed;
	double count = 0;

	open_recording(&feed);
	ck_assert_int_eq(timed_profile_read(&timed, &query, &feed.feed, METRIC_WALL, 8), 0);
	ck_assert_uint_le(timed.profile.count, 8);
	ck_assert_int_gt(timed.row_ms, 105);
	for (uint32_t i = 0; i < timed.profile.count; i++) {
		count += timed.profile.samples[i].count;
		ck_assert_int_eq(timed.profile.samples[i].time_ms % timed.row_ms, 0);
	}
	ck_assert_double_eq(count, 21);
	timed_profile_free(&timed);
	munmap(recording, recording_length);
}
END_TEST

/* A sleeping thread's event is spread over its time, and samples have states. */
START_TEST(profile_has_states)
{
	struct query query = QUERY_INIT;
	struct timed_profile timed;
	struct memory_feed feed;
	unsigned waits = 0, runs = 0;
	int64_t last_ms = 0;

	query.contexts = true;
	query.waits = WAIT_PARTS_KIND;
	open_recording(&feed);
	ck_assert_int_eq(timed_profile_read(&timed, &query, &feed.feed, METRIC_WALL, 1000), 0);
	for (uint32_t i = 0; i < timed.profile.count; i++) {
		const struct sample *s = &timed.profile.samples[i];
		uint32_t state = profile_wait(&timed.profile, s->wait)->state;

		ck_assert_uint_eq(s->metric, METRIC_WALL);
		ck_assert_double_eq(s->count, 1);
		waits += state == WAIT_WAITING;
		runs += state == WAIT_RUNNING;
		last_ms = s->time_ms > last_ms ? s->time_ms : last_ms;
	}
	ck_assert_uint_eq(waits, 20);
	ck_assert_uint_eq(runs, 1);
	ck_assert_int_eq(last_ms, (int64_t)(START / 1000000) + 19 * 105);
	ck_assert_uint_eq(timed.marks.length / sizeof(struct timed_mark), 4);
	timed_profile_free(&timed);
	/* The span is in samples of CPU time. */
	memory_feed_init(&feed, recording, recording_length);
	ck_assert_int_eq(timed_profile_read(&timed, &query, &feed.feed, METRIC_CPU, 1000), 0);
	ck_assert_uint_eq(timed.profile.count, 3);
	ck_assert_uint_eq(timed.marks.length / sizeof(struct timed_mark), 5);
	timed_profile_free(&timed);
	munmap(recording, recording_length);
}
END_TEST

/* Events of many samples have fewer parts, the more parts there were. */
START_TEST(parts_are_bounded)
{
	uint64_t sum = 0, parts = 0;

	ck_assert_int_eq(event_parts(0, &sum), 1);
	ck_assert_int_eq(event_parts(4000, &sum), 4000);
	for (int i = 0; i < 1000000; i++)
		parts += (uint64_t)event_parts(INT64_MAX, &sum);
	ck_assert_uint_le(parts, EVENT_PARTS_MAX + 1000000);
	ck_assert_int_eq(event_parts(INT64_MAX, &sum), 1);
}
END_TEST

static double sum_numbers(const cJSON *array)
{
	const cJSON *item;
	double sum = 0;

	cJSON_ArrayForEach(item, array) sum += item->valuedouble;
	return sum;
}

static cJSON *parse_and_free(char *text, size_t length)
{
	cJSON *json = cJSON_ParseWithLength(text, length);

	ck_assert_msg(json != NULL, "not JSON: %.200s", text);
	free(text);
	return json;
}

START_TEST(speedscope_has_all)
{
	struct timed_store store;
	size_t length, evented = 0;
	char *text;
	FILE *file = open_memstream(&text, &length);
	const cJSON *profile, *frames;
	cJSON *json;
	double weight = 0;

	read_store(&store);
	ck_assert_int_eq(speedscope_write(file, &store, "title"), 0);
	fclose(file);
	json = parse_and_free(text, length);
	frames = cJSON_GetObjectItem(cJSON_GetObjectItem(json, "shared"), "frames");
	ck_assert_int_eq(cJSON_GetArraySize(frames), (int)store.profile.frames.count + TIMED_MARKS);
	cJSON_ArrayForEach(profile, cJSON_GetObjectItem(json, "profiles"))
	{
		const cJSON *samples = cJSON_GetObjectItem(profile, "samples"), *stack;
		const cJSON *weights = cJSON_GetObjectItem(profile, "weights");
		int i = 0;

		if (!samples) {
			evented++;
			continue;
		}
		ck_assert_int_eq(cJSON_GetArraySize(samples), cJSON_GetArraySize(weights));
		ck_assert_double_eq(sum_numbers(weights),
				    cJSON_GetObjectItem(profile, "endValue")->valuedouble);
		cJSON_ArrayForEach(stack, samples)
		{
			if (cJSON_GetArraySize(stack))
				weight += cJSON_GetArrayItem(weights, i)->valuedouble;
			i++;
		}
	}
	ck_assert_double_eq(weight, 3 * 10e6 + 21 * 100e6);
	ck_assert_uint_eq(evented, 2); /* the stall and the span */
	cJSON_Delete(json);
	release_store(&store);
}
END_TEST

/* Check that all columns of TABLE have its length, and indices below the limit of their table. */
static void check_table(const cJSON *table, const char *column, int limit)
{
	int length = cJSON_GetObjectItem(table, "length")->valueint;
	const cJSON *item, *index;

	cJSON_ArrayForEach(item, table) if (cJSON_IsArray(item))
		ck_assert_int_eq(cJSON_GetArraySize(item), length);
	cJSON_ArrayForEach(index, cJSON_GetObjectItem(table, column))
		ck_assert_int_lt(index->valueint, limit);
}

static int table_length(const cJSON *shared, const char *name)
{
	return cJSON_GetObjectItem(cJSON_GetObjectItem(shared, name), "length")->valueint;
}

START_TEST(firefox_has_all)
{
	struct timed_store store;
	size_t length;
	char *text;
	FILE *file = open_memstream(&text, &length);
	const cJSON *thread, *shared;
	cJSON *json;
	int strings, samples = 0, marks = 0;

	read_store(&store);
	ck_assert_int_eq(firefox_write(file, &store, "title"), 0);
	fclose(file);
	json = parse_and_free(text, length);
	shared = cJSON_GetObjectItem(json, "shared");
	strings = cJSON_GetArraySize(cJSON_GetObjectItem(shared, "stringArray"));
	check_table(cJSON_GetObjectItem(shared, "stackTable"), "frame",
		    table_length(shared, "frameTable"));
	check_table(cJSON_GetObjectItem(shared, "frameTable"), "func",
		    table_length(shared, "funcTable"));
	check_table(cJSON_GetObjectItem(shared, "funcTable"), "name", strings);
	check_table(cJSON_GetObjectItem(shared, "funcTable"), "resource",
		    table_length(shared, "resourceTable"));
	check_table(cJSON_GetObjectItem(shared, "resourceTable"), "name", strings);
	cJSON_ArrayForEach(thread, cJSON_GetObjectItem(json, "threads"))
	{
		check_table(cJSON_GetObjectItem(thread, "samples"), "stack",
			    table_length(shared, "stackTable"));
		check_table(cJSON_GetObjectItem(thread, "markers"), "name", strings);
		samples += table_length(thread, "samples");
		marks += table_length(thread, "markers");
	}
	ck_assert_int_eq(samples, SAMPLES);
	ck_assert_int_eq(marks, (int)store.mark_count);
	cJSON_Delete(json);
	release_store(&store);
}
END_TEST

/* Find FIELD of the message. Returns its number of occurrences; *OUT is the last one. */
static unsigned find_field(struct proto_reader reader, unsigned number, struct proto_field *out)
{
	struct proto_field field;
	unsigned count = 0;

	while (proto_next(&reader, &field))
		if (field.number == number) {
			*out = field;
			count++;
		}
	return count;
}

static struct proto_reader reader_of(const struct proto_field *field)
{
	return (struct proto_reader){ field->data, field->data + field->length };
}

START_TEST(perfetto_has_all)
{
	struct timed_store store;
	size_t length, samples = 0, events = 0, stacks = 0;
	char *text;
	FILE *file = open_memstream(&text, &length);
	struct proto_reader packets;
	struct proto_field packet, field, part;

	read_store(&store);
	ck_assert_int_eq(perfetto_write(file, &store), 0);
	fclose(file);
	packets = (struct proto_reader){ (uint8_t *)text, (uint8_t *)text + length };
	while (proto_next(&packets, &packet)) {
		samples += find_field(reader_of(&packet), 66, &field);
		if (find_field(reader_of(&packet), 12, &field))
			stacks += find_field(reader_of(&field), 7, &part);
		events += find_field(reader_of(&packet), 11, &field);
	}
	ck_assert_ptr_eq(packets.at, packets.end);
	ck_assert_uint_eq(samples, SAMPLES);
	ck_assert_uint_eq(stacks, 3); /* two of CPU time, one of the wall clock */
	/* A mark with a duration is two events. */
	ck_assert_uint_eq(events, store.mark_count + 2);
	free(text);
	release_store(&store);
}
END_TEST

/* Two containers have a process 1 each, and one of them two threads. */
START_TEST(perfetto_keeps_processes_apart)
{
	static const char *const labels[] = { "process=web_1\nhost=a\n", "process=web_1\nhost=b\n",
					      "process=db_1\nhost=a\n",
					      "process=web_1\nhost=b\ntag=x\n" };
	struct timed_store store = { .profile = PROFILE_INIT };
	size_t length, processes = 0;
	char *text;
	FILE *file = open_memstream(&text, &length);
	struct proto_reader packets;
	struct proto_field packet, track, process, pid;
	uint64_t pids[4] = { 0 };

	for (uint32_t i = 0; i < 4; i++) {
		struct thread_key key = { .tid = 7 + i };

		key.labels = intern_string(&store.profile.names, labels[i]);
		ck_assert_uint_gt(intern(&store.profile.threads, &key, sizeof(key)), 0);
	}
	ck_assert_int_eq(perfetto_write(file, &store), 0);
	fclose(file);
	packets = (struct proto_reader){ (uint8_t *)text, (uint8_t *)text + length };
	while (proto_next(&packets, &packet))
		if (find_field(reader_of(&packet), 60, &track) > 0 &&
		    find_field(reader_of(&track), 3, &process) > 0 &&
		    find_field(reader_of(&process), 1, &pid) > 0 && processes < 4)
			pids[processes++] = pid.value;
	ck_assert_uint_eq(processes, 3);
	ck_assert_uint_eq(pids[0], 1);
	ck_assert(pids[1] != 1 && pids[2] != 1 && pids[1] != pids[2]);
	free(text);
	profile_free(&store.profile);
}
END_TEST

START_TEST(otlp_has_all)
{
	struct timed_store store;
	struct libraries libraries = { 0 };
	size_t length, times = 0, profiles = 0;
	char *text;
	FILE *file = open_memstream(&text, &length);
	struct proto_reader data;
	struct proto_field field, scope = { 0 }, profile = { 0 }, sample, packed;

	read_store(&store);
	ck_assert_int_eq(otlp_file_write(file, &store, &libraries), 0);
	fclose(file);
	data = (struct proto_reader){ (uint8_t *)text, (uint8_t *)text + length };
	while (proto_next(&data, &field)) {
		struct proto_reader samples;

		if (field.number != 1)
			continue;
		ck_assert_uint_eq(find_field(reader_of(&field), 2, &scope), 1);
		profiles += find_field(reader_of(&scope), 2, &profile);
		samples = reader_of(&profile);
		while (proto_next(&samples, &sample))
			if (sample.number == 2 && find_field(reader_of(&sample), 5, &packed))
				times += packed.length / 8;
	}
	ck_assert_uint_eq(profiles, 3);
	ck_assert_uint_eq(times, SAMPLES);
	free(text);
	libraries_free(&libraries);
	release_store(&store);
}
END_TEST

START_TEST(marks_do_not_overlap)
{
	static const struct {
		int64_t start, duration, end_before, start_after, end_after;
		bool left;
	} cases[] = {
		{ 10, 5, 0, 10, 15, true },
		{ 10, 5, 12, 12, 15, true },
		{ 10, 5, 15, 15, 15, false },
		{ 10, 5, 20, 20, 20, false },
		{ INT64_MAX - 1, 9, 0, INT64_MAX - 1, INT64_MAX, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct timed_mark mark = { .time_ns = cases[i].start,
					   .duration_ns = cases[i].duration };
		int64_t end = cases[i].end_before, start;

		ck_assert(export_clip_mark(&mark, &end, &start) == cases[i].left);
		ck_assert_int_eq(start, cases[i].start_after);
		ck_assert_int_eq(end, cases[i].end_after);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("export");

	tcase_add_test(tcase, store_has_all);
	tcase_add_test(tcase, profile_has_states);
	tcase_add_test(tcase, parts_are_bounded);
	tcase_add_test(tcase, profile_has_limit);
	tcase_add_test(tcase, speedscope_has_all);
	tcase_add_test(tcase, firefox_has_all);
	tcase_add_test(tcase, perfetto_has_all);
	tcase_add_test(tcase, perfetto_keeps_processes_apart);
	tcase_add_test(tcase, otlp_has_all);
	tcase_add_test(tcase, marks_do_not_overlap);
	return suite_run(tcase);
}
