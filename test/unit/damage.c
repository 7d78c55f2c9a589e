/* Every truncation of a recording, and every flipped byte: the whole work of a command ends, in an
 * error or a result, within the memory bound. Under sanitizers it would show invalid reads. A
 * sample of them by default; with DAMAGE=0/1 every length, and every byte of the file with each of
 * its bits flipped, and all of them; with DAMAGE=2/3 the last of three shares. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/fd.h"
#include "decoder/input/file_feed.h"
#include "decoder/output/message.h"
#include "profile/aggregate/heap.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

#define MODEL "test/fuzz/corpus/jfr/native"

/* Kilobytes that reading may take; a sanitizer keeps freed memory for a while. */
#define MEMORY_MAX (ADDRESS_SANITIZED ? 600u << 10 : 64u << 10)

/* One in so many of the sample is read. The address sanitizer finds invalid reads; the thread
 * sanitizer checks the end of the reading threads, which has fewer variants and takes longer. */
#define SPARSER (THREAD_SANITIZED ? 8 : 1)

static uint8_t model[65536];
static size_t model_size;
static unsigned share, shares; /* of all damage; 0: a sample */

static void load_model(void)
{
	FILE *file = fopen(MODEL, "rb");
	const char *damage = getenv("DAMAGE");

	if (damage && sscanf(damage, "%u/%u", &share, &shares) != 2)
		shares = 0;
	ck_assert_ptr_nonnull(file);
	model_size = fread(model, 1, sizeof(model), file);
	fclose(file);
	ck_assert_uint_gt(model_size, 1000);
	message_disabled = true;
}

/* Read DATA as profile and as heap; returns the samples and events seen. */
static double read_bytes(const uint8_t *data, size_t size)
{
	struct query query = QUERY_INIT;
	struct profile profile = PROFILE_INIT;
	struct heap heap = { .query = &query, .want_stacks = true };
	char path[64], *paths[] = { path };
	int fd = memfd_create("damage", MFD_CLOEXEC);
	double seen = 0;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write(fd, data, size, 0), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ck_assert_int_eq(file_feed_open(&heap.feed, NULL, paths, 1), 0);
	profile_read(&profile, &query, heap.feed, metric_mask(METRIC_ANY));
	for (uint32_t i = 0; i < profile.count; i++)
		seen += profile.samples[i].count;
	heap_read(&heap);
	seen += heap.live;
	profile_free(&profile);
	profile_read(&profile, &query, heap.feed, metric_mask(METRIC_LIVE));
	seen += profile.count;
	profile_free(&profile);
	file_feed_close(heap.feed);
	heap_free(&heap);
	close(fd);
	return seen;
}

START_TEST(whole)
{
	ck_assert(read_bytes(model, model_size) > 10);
}
END_TEST

START_TEST(truncated)
{
	/* One truncated chunk: nothing of it is read. */
	for (size_t size = 1 + share; size < model_size; size += shares ? shares : 97 * SPARSER)
		ck_assert(read_bytes(model, size) == 0);
	/* A whole chunk and a part of another: the whole one is read. */
	memcpy(model + model_size, model, 500);
	ck_assert(read_bytes(model, model_size + 500) > 10);
}
END_TEST

static void read_flipped(size_t i, uint8_t bits)
{
	model[i] ^= bits;
	read_bytes(model, model_size);
	model[i] ^= bits;
}

START_TEST(flipped)
{
	struct rusage usage;

	for (size_t i = share; i < model_size; i += shares ? shares : (i < 600 ? 1 : 7) * SPARSER) {
		for (int bit = 0; bit < 8; bit += shares ? 1 : 7)
			read_flipped(i, (uint8_t)(1 << bit));
		if (shares)
			read_flipped(i, 0xff);
	}
	getrusage(RUSAGE_SELF, &usage);
	if (!getenv("TEST_RUNNER")) /* an emulator has memory of its own */
		ck_assert_int_lt(usage.ru_maxrss, MEMORY_MAX);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("reading");

	tcase_set_timeout(tcase, 1800);
	tcase_add_checked_fixture(tcase, load_model, NULL);
	tcase_add_test(tcase, whole);
	tcase_add_test(tcase, truncated);
	tcase_add_test(tcase, flipped);
	return suite_run(tcase);
}
