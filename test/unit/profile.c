/* profile/ as a reporter uses it: one recording in memory, added up and written as profile.proto, with
 * nothing of the command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "profile/aggregate/profile.h"
#include "profile/pprof/pprof_write.h"
#include "test/fixtures/suite.h"

#define FIXTURE "test/fixtures/jfr/native.jfr"

/* A recording in memory, as a feed. */
struct memory {
	struct feed feed;
	const uint8_t *data;
	uint64_t length, offset;
	unsigned damaged;
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
	settings_of(&chunk->settings, m->data, m->length);
	if (jfr_header(&chunk->header, m->data, m->length, m->offset, &error))
		return false;
	m->offset += chunk->header.size;
	return true;
}

static void done(struct feed *feed, struct feed_chunk *chunk)
{
	(void)feed;
	(void)chunk;
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
	struct memory m = { { &calls, false }, recording, recording_length, 0, 0 };
	struct query query = QUERY_INIT;
	struct profile once = PROFILE_INIT, again = PROFILE_INIT;

	ck_assert_int_eq(profile_read(&once, &query, &m.feed, metric_mask(METRIC_ANY)), 0);
	ck_assert(sum(&once, METRIC_CPU) > 0);
	ck_assert_uint_gt(once.chunks, 0);
	/* A feed is begun again, whatever was read of it. */
	ck_assert_int_eq(profile_read(&again, &query, &m.feed, metric_mask(METRIC_LIVE)), 0);
	profile_free(&again);
	ck_assert_int_eq(profile_read(&again, &query, &m.feed, metric_mask(METRIC_ANY)), 0);
	ck_assert_uint_eq(again.count, once.count);
	ck_assert(sum(&again, METRIC_CPU) == sum(&once, METRIC_CPU));
	profile_free(&once);
	profile_free(&again);
}
END_TEST

START_TEST(tells_of_damage)
{
	struct memory m = { { &calls, false }, recording, recording_length, 0, 0 };
	struct query query = QUERY_INIT;
	struct profile profile = PROFILE_INIT;
	struct jfr_header header;
	struct jfr_error error;

	ck_assert_int_eq(jfr_header(&header, recording, recording_length, 0, &error), 0);
	memset(recording + header.metadata, 0xff, 16);
	ck_assert_int_eq(profile_read(&profile, &query, &m.feed, metric_mask(METRIC_ANY)), -EIO);
	ck_assert_uint_eq(m.damaged, 1);
	profile_free(&profile);
}
END_TEST

/* What is unpacked of PACKED, which is several streams or one. */
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
	struct memory m = { { &calls, false }, recording, recording_length, 0, 0 };
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

int main(void)
{
	TCase *tcase = tcase_create("profile");

	tcase_add_checked_fixture(tcase, read_fixture, forget_fixture);
	tcase_add_test(tcase, adds_up);
	tcase_add_test(tcase, tells_of_damage);
	tcase_add_test(tcase, writes_pprof);
	return suite_run(tcase);
}
