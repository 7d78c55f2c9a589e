/* Sources of recordings, one after another: open files are closed again, however far a feed was
 * read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "decoder/input/file_feed.h"
#include "test/fixtures/jfr_sample.h"
#include "test/fixtures/suite.h"

static struct sample sample;
static char packed[sizeof(sample.directory) + 16];

/* A zip with the recording in it twice, two chunks each. */
static void make(void)
{
	static const char *const members[] = { "a.jfr", "b.jfr" };
	zip_t *zip;

	ck_assert_int_eq(sample_make(&sample), 0);
	snprintf(packed, sizeof(packed), "%s/packed.zip", sample.directory);
	zip = zip_open(packed, ZIP_CREATE, NULL);
	ck_assert_ptr_nonnull(zip);
	for (int i = 0; i < 2; i++) {
		zip_source_t *file = zip_source_file(zip, sample.recording, 0, 0);

		ck_assert_int_ge(zip_file_add(zip, members[i], file, 0), 0);
	}
	ck_assert_int_eq(zip_close(zip), 0);
}

static void clear(void)
{
	unlink(packed);
	sample_remove(&sample);
}

/* Number of this process's mappings of unnamed files, into which members are unpacked. */
static int unnamed_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int count = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "(deleted)") != NULL;
	fclose(maps);
	return count;
}

START_TEST(closes_what_it_opened)
{
	int before = unnamed_mappings();

	/* All four chunks, and a missing fifth. */
	for (int wanted = 0; wanted <= 5; wanted++) {
		char *paths[] = { packed };
		struct feed_chunk chunk;
		struct feed *feed;
		int got = 0;

		ck_assert_int_eq(file_feed_open(&feed, NULL, paths, 1), 0);
		for (; got < wanted && feed->calls->next(feed, &chunk); got++) {
			ck_assert_int_eq(unnamed_mappings(), before + 1); /* one member at a time */
			feed->calls->done(feed, &chunk);
		}
		ck_assert_int_eq(got, wanted < 4 ? wanted : 4);
		ck_assert(!feed->failed);
		file_feed_close(feed);
		ck_assert_int_eq(unnamed_mappings(), before);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("feed");

	tcase_add_checked_fixture(tcase, make, clear);
	tcase_add_test(tcase, closes_what_it_opened);
	return suite_run(tcase);
}
