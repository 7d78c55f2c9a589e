/* endpoint/profile_output: a response that exceeds its limit uses no memory beyond the limit. */
#include "endpoint/profile_output.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/fd.h"
#include "engine/jfr/jfr_write.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

/* A text of 50 MB, of a recording of a few. */
#define STACKS 1500
#define DEPTH  500
#define NAME   100

#define FIRST_PC 0x1000

#define SECOND_NS 1000000000ull
#define START_NS  (1700000000 * SECOND_NS)

static int name_all(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		    struct jfr_frame_name *out)
{
	static char names[STACKS][NAME + 1];

	(void)context;
	(void)is_return;
	for (size_t i = 0; i < count; i++) {
		char *name = names[pcs[i] - FIRST_PC];

		snprintf(name, NAME + 1, "%0*zu", NAME, pcs[i]);
		out[i] = (struct jfr_frame_name){ .class_name = "app",
						  .method_name = name,
						  .type = JFR_FRAME_NATIVE };
	}
	return 0;
}

static void write_recording(int fd)
{
	struct jfr_writer *w;
	uintptr_t pcs[DEPTH];
	off_t end;

	for (uintptr_t i = 0; i < DEPTH; i++)
		pcs[i] = FIRST_PC + i % 100;
	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	ck_assert_int_eq(jfr_chunk_begin(w, START_NS, 0), 0);
	for (uintptr_t i = 0; i < STACKS; i++) {
		pcs[0] = FIRST_PC + i;
		jfr_execution_sample(w, 1 + i, 1, jfr_stack(w, pcs, DEPTH, false),
				     JFR_STATE_DEFAULT);
	}
	ck_assert_int_eq(jfr_chunk_end(w, START_NS + SECOND_NS, SECOND_NS, name_all, NULL, &end),
			 0);
	jfr_writer_close(w);
}

static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

START_TEST(large_text)
{
	struct profile_options options = { .format = PROFILE_TEXT,
					   .metric = METRIC_CPU,
					   .to_ns = INT64_MAX };
	struct buf small = BUF_INIT(1 << 20), out = BUF_INIT(256 << 20);
	int fd = memfd_create("recording", MFD_CLOEXEC);
	long before;

	write_recording(fd);
	options.format = PROFILE_TEXT;
	before = peak_kib();
	ck_assert_int_eq(profile_output_write(&small, fd, &options), -EFBIG);
	if (!ADDRESS_SANITIZED && !THREAD_SANITIZED)
		ck_assert_int_le(peak_kib() - before, 32 << 10);
	ck_assert_int_eq(profile_output_write(&out, fd, &options), 0);
	ck_assert_uint_gt(out.length, 32 << 20);
	ck_assert_int_lt(lseek(fd, 0, SEEK_END), 16 << 20);
	buf_free(&small);
	buf_free(&out);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("profile_output");

	tcase_add_test(tcase, large_text);
	return suite_run(tcase);
}
