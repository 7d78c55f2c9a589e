/* profile/ as a reporter uses it: one recording in memory, aggregated and written as profile.proto,
 * without the command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "core/fd.h"
#include "engine/jfr/jfr_write.h"
#include "profile/aggregate/profile.h"
#include "profile/encode/proto_read.h"
#include "profile/pprof/pprof.h"
#include "profile/pprof/pprof_write.h"
#include "test/fixtures/suite.h"

#define FIXTURE "test/fixtures/jfr/native.jfr"

/* A recording in memory, as a feed. */
struct memory {
	struct feed feed;
	const uint8_t *data;
	uint64_t length, offset;
	unsigned damaged, taken, taken_max; /* chunks */
};

static int restart(struct feed *feed, bool ordered)
{
	(void)ordered; /* there is one file */
	((struct memory *)feed)->offset = 0;
	return 0;
}

static bool next(struct feed *feed, struct feed_chunk *chunk)
{
	struct memory *m = (struct memory *)feed;
	struct jfr_error error = { 0 };

	*chunk = (struct feed_chunk){ .file = "memory", .data = m->data };
	settings_read_first_chunk(&chunk->settings, m->data, m->length);
	if (jfr_header_read(&chunk->header, m->data, m->length, m->offset, &error))
		return false;
	m->offset += chunk->header.size;
	m->taken++;
	m->taken_max = m->taken > m->taken_max ? m->taken : m->taken_max;
	return true;
}

static void done(struct feed *feed, struct feed_chunk *chunk)
{
	(void)chunk;
	((struct memory *)feed)->taken--;
}

static void damage(struct feed *feed, const struct feed_chunk *chunk, const struct jfr_error *error)
{
	(void)chunk;
	ck_assert_ptr_nonnull(error->what);
	((struct memory *)feed)->damaged++;
	feed->failed = true;
}

static bool span(struct feed *feed, int64_t *start_ns, int64_t *end_ns)
{
	(void)feed;
	(void)start_ns;
	(void)end_ns;
	return false;
}

static bool is_small(struct feed *feed)
{
	(void)feed;
	return true;
}

static const struct feed_calls calls = { restart, next, done, damage, span, is_small };

static uint8_t *recording;
static size_t recording_length;

static void read_fixture(void)
{
	FILE *file = fopen(FIXTURE, "rb");

	ck_assert_ptr_nonnull(file);
	recording = malloc(8 << 20);
	recording_length = fread(recording, 1, 8 << 20, file);
	fclose(file);
	ck_assert_uint_gt(recording_length, 1000);
}

static void forget_fixture(void)
{
	free(recording);
}

static double sum(const struct profile *profile, uint32_t metric)
{
	double count = 0;

	for (uint32_t i = 0; i < profile->count; i++)
		count += profile->samples[i].metric == metric ? profile->samples[i].count : 0;
	return count;
}

START_TEST(adds_up)
{
	struct memory m = { .feed = { &calls, false },
			    .data = recording,
			    .length = recording_length };
	struct query query = QUERY_INIT;
	struct profile once = PROFILE_INIT, again = PROFILE_INIT;

	ck_assert_int_eq(profile_read(&once, &query, &m.feed, metric_mask(METRIC_ANY)), 0);
	ck_assert(sum(&once, METRIC_CPU) > 0);
	ck_assert_uint_gt(once.chunks, 0);
	/* A feed can be restarted, however far it was read. */
	ck_assert_int_eq(profile_read(&again, &query, &m.feed, metric_mask(METRIC_LIVE)), 0);
	profile_free(&again);
	ck_assert_int_eq(profile_read(&again, &query, &m.feed, metric_mask(METRIC_ANY)), 0);
	ck_assert_uint_eq(again.count, once.count);
	ck_assert(sum(&again, METRIC_CPU) == sum(&once, METRIC_CPU));
	profile_free(&once);
	profile_free(&again);
}
END_TEST

/* Chunks of a report are copies in the program's memory. */
START_TEST(takes_one_chunk_at_a_time)
{
	const size_t times = 16;
	uint8_t *repeated = malloc(times * recording_length);
	struct memory m = { .feed = { &calls, false },
			    .data = repeated,
			    .length = times * recording_length };
	struct query query = QUERY_INIT;
	struct profile profile = PROFILE_INIT;

	ck_assert_ptr_nonnull(repeated);
	for (size_t i = 0; i < times; i++)
		memcpy(repeated + i * recording_length, recording, recording_length);
	ck_assert_int_eq(profile_read(&profile, &query, &m.feed, metric_mask(METRIC_LIVE)), 0);
	profile_free(&profile);
	ck_assert_int_eq(profile_read(&profile, &query, &m.feed, ~0u), 0);
	ck_assert_uint_eq(m.taken_max, 1);
	ck_assert_uint_eq(m.taken, 0);
	profile_free(&profile);
	free(repeated);
}
END_TEST

START_TEST(tells_of_damage)
{
	struct memory m = { .feed = { &calls, false },
			    .data = recording,
			    .length = recording_length };
	struct query query = QUERY_INIT;
	struct profile profile = PROFILE_INIT;
	struct jfr_header header;
	struct jfr_error error;

	ck_assert_int_eq(jfr_header_read(&header, recording, recording_length, 0, &error), 0);
	memset(recording + header.metadata, 0xff, 16);
	ck_assert_int_eq(profile_read(&profile, &query, &m.feed, metric_mask(METRIC_ANY)), -EIO);
	ck_assert_uint_eq(m.damaged, 1);
	profile_free(&profile);
}
END_TEST

/* The unpacked data of PACKED, which is several streams or one. */
static size_t unpack(uint8_t *out, size_t room, uint8_t *packed, size_t length)
{
	z_stream z = { .next_in = packed,
		       .avail_in = (uInt)length,
		       .next_out = out,
		       .avail_out = (uInt)room };

	ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
	ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	return room - z.avail_out;
}

START_TEST(writes_pprof)
{
	struct memory m = { .feed = { &calls, false },
			    .data = recording,
			    .length = recording_length };
	struct query query = QUERY_INIT;
	struct profile profile = PROFILE_INIT;
	struct libraries libraries = { 0 };
	uint8_t *out = malloc(8 << 20);
	char *packed = NULL;
	size_t size = 0, length;
	FILE *file = open_memstream(&packed, &size);

	query.places = true;
	ck_assert_int_eq(profile_read(&profile, &query, &m.feed, metric_mask(METRIC_ANY)), 0);
	libraries_read(&libraries, &m.feed);
	ck_assert_int_eq(pprof_write(file, &profile, &libraries), 0);
	ck_assert_int_eq(fclose(file), 0);
	length = unpack(out, 8 << 20, (uint8_t *)packed, size);
	ck_assert_uint_gt(length, 100);
	ck_assert_uint_eq(out[0], 1 << 3 | 2); /* the first field: a type of samples */
	ck_assert_ptr_nonnull(memmem(out, length, "nanoseconds", 11));
	ck_assert_ptr_nonnull(memmem(out, length, profile_frame_name(&profile, 1),
				     strlen(profile_frame_name(&profile, 1))));
	libraries_free(&libraries);
	profile_free(&profile);
	free(packed);
	free(out);
}
END_TEST

/* Two functions of a script, and their interpreter. */
static int name_script(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		       struct jfr_frame_name *out)
{
	static const char *const names[] = { "", "first", "second", "main" };

	(void)context;
	(void)is_return;
	for (size_t i = 0; i < count; i++)
		out[i] = (struct jfr_frame_name){
			.class_name = pcs[i] < 48 ? "app.script" : "app",
			.method_name = names[pcs[i] / 16],
			.type = pcs[i] < 48 ? JFR_FRAME_INTERPRETED : JFR_FRAME_NATIVE,
		};
	return 0;
}

static size_t record_script(void)
{
	static const uintptr_t stacks[][2] = { { 16, 48 }, { 32, 48 } };
	int fd = memfd_create("script", MFD_CLOEXEC);
	struct jfr_writer *w;
	off_t end;

	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	ck_assert_int_eq(jfr_chunk_begin(w, 1000000000, 1), 0);
	for (size_t i = 0; i < 2; i++)
		jfr_execution_sample(w, 2, 42, jfr_stack(w, stacks[i], 2, false),
				     JFR_STATE_DEFAULT);
	ck_assert_int_eq(jfr_chunk_end(w, 2000000000, 3, name_script, NULL, &end), 0);
	jfr_writer_close(w);
	ck_assert_int_le(end, 8 << 20);
	ck_assert_int_eq(fd_read(fd, recording, (size_t)end, 0), 0);
	close(fd);
	return (size_t)end;
}

/* For each thread only the last one, whatever is before it. */
START_TEST(newest_of_each_thread)
{
	static const struct {
		uint64_t ticks;
		pid_t tid;
		uintptr_t pc;
	} taken[] = { { 9, 42, 16 }, { 5, 42, 32 }, { 8, 42, 48 }, { 9, 42, 16 }, { 3, 43, 32 } };
	int fd = memfd_create("threads", MFD_CLOEXEC);
	struct memory m = { .feed = { &calls, false }, .data = recording, .length = 0 };
	struct profile profile = PROFILE_INIT;
	struct query query = QUERY_INIT;
	struct jfr_writer *w;
	off_t end;

	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	ck_assert_int_eq(jfr_chunk_begin(w, 1000000000, 1), 0);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		jfr_wall_sample(w, taken[i].ticks, taken[i].tid,
				jfr_stack(w, &taken[i].pc, 1, false), JFR_STATE_SLEEPING, 1, 0);
	ck_assert_int_eq(jfr_chunk_end(w, 2000000000, 10, name_script, NULL, &end), 0);
	jfr_writer_close(w);
	ck_assert_int_eq(fd_read(fd, recording, (size_t)end, 0), 0);
	close(fd);
	m.length = (uint64_t)end;
	query.newest = true;
	ck_assert_int_eq(profile_read(&profile, &query, &m.feed, metric_mask(METRIC_WALL)), 0);
	ck_assert_uint_eq(profile.count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct sample *s = &profile.samples[i];
		const uint32_t *frames = intern_key(&profile.stacks, s->stack);

		ck_assert_str_eq(profile_frame_name(&profile, frames[0]),
				 s->count == 2 ? "app.script.first" : "app.script.second");
	}
	profile_free(&profile);
}
END_TEST

/* The ids of the locations in the profile.proto. */
static size_t addresses(uint64_t *out, size_t room)
{
	struct memory m = { .feed = { &calls, false },
			    .data = recording,
			    .length = recording_length };
	static uint8_t message[1 << 20];
	struct query query = QUERY_INIT;
	struct profile profile = PROFILE_INIT;
	struct libraries libraries = { 0 };
	struct proto_reader reader;
	struct proto_field field;
	char *packed = NULL;
	size_t size = 0, count = 0;
	FILE *file = open_memstream(&packed, &size);

	query.places = true;
	ck_assert_int_eq(profile_read(&profile, &query, &m.feed, metric_mask(METRIC_ANY)), 0);
	ck_assert_int_eq(pprof_write(file, &profile, &libraries), 0);
	ck_assert_int_eq(fclose(file), 0);
	size = unpack(message, sizeof(message), (uint8_t *)packed, size);
	reader = (struct proto_reader){ message, message + size };
	while (proto_next(&reader, &field)) {
		struct proto_reader location;

		if (field.number != PPROF_LOCATION)
			continue;
		location = (struct proto_reader){ field.data, field.data + field.length };
		ck_assert_uint_lt(count, room);
		out[count] = 0;
		while (proto_next(&location, &field))
			if (field.number == 3)
				out[count] = field.value;
		count++;
	}
	profile_free(&profile);
	free(packed);
	return count;
}

/* They distinguish stacks in a comparison. */
START_TEST(functions_of_scripts_have_addresses)
{
	uint64_t first[4], again[4];
	size_t own = 0;

	recording_length = record_script();
	ck_assert_uint_eq(addresses(first, 4), 3);
	ck_assert_uint_eq(addresses(again, 4), 3);
	ck_assert_mem_eq(first, again, 3 * sizeof(first[0]));
	for (size_t i = 0; i < 3; i++) {
		own += first[i] >> 63;
		for (size_t j = 0; j < i; j++)
			ck_assert_uint_ne(first[i], first[j]);
	}
	ck_assert_uint_eq(own, 2);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("profile");

	tcase_add_checked_fixture(tcase, read_fixture, forget_fixture);
	tcase_add_test(tcase, adds_up);
	tcase_add_test(tcase, takes_one_chunk_at_a_time);
	tcase_add_test(tcase, tells_of_damage);
	tcase_add_test(tcase, writes_pprof);
	tcase_add_test(tcase, newest_of_each_thread);
	tcase_add_test(tcase, functions_of_scripts_have_addresses);
	return suite_run(tcase);
}
