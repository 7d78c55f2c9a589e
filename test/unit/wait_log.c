/* engine/collect/wait_log: a thread that waits is logged with its cause from the first look to the last one. */
#include "engine/collect/wait_log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "engine/wait/wait_look.h"
#include "profile/aggregate/memory_feed.h"
#include "profile/aggregate/wait_looks.h"
#include "test/fixtures/suite.h"

#define SECOND 1000000000u

static int ends[2];
static _Atomic pid_t reader;

static void *reads(void *unused)
{
	char byte;

	reader = (pid_t)syscall(SYS_gettid);
	while (read(ends[0], &byte, 1) == 1)
		;
	return unused;
}

/* The log in a chunk that begins at START_NS, as it is read. */
static void read_log(struct wait_looks *looks, uint64_t start_ns)
{
	static uint8_t file[1 << 20];
	struct query query = QUERY_INIT;
	struct memory_feed feed;
	struct jfr_writer *w;
	off_t end = 0;
	int fd = memfd_create("log", MFD_CLOEXEC);

	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	jfr_writer_calibrated(w, SECOND);
	ck_assert_int_eq(jfr_chunk_begin(w, start_ns, 1), 0);
	wait_log_write(w, start_ns, 1);
	ck_assert_int_eq(jfr_chunk_end(w, start_ns, 1, NULL, NULL, &end), 0);
	jfr_writer_close(w);
	ck_assert_int_eq(pread(fd, file, sizeof(file), 0), end);
	close(fd);
	memory_feed_init(&feed, file, (uint64_t)end);
	query.waits = WAIT_PARTS_OWNER;
	ck_assert_int_eq(wait_looks_read(looks, &query, &feed.feed), 0);
}

/* The text of the reader at TIME_NS. */
static const char *text_at(const struct wait_looks *looks, uint64_t time_ns)
{
	uint32_t file = wait_looks_file(looks, "the recording");

	return file ? intern_text(&looks->texts, wait_looks_find(looks, file, (uint32_t)reader,
								 (int64_t)time_ns, 0, true))
		    : "";
}

/* Each look is due, as the interval changes. */
static void look(void)
{
	static uint64_t interval_ns = SECOND;

	interval_ns++;
	ck_assert_uint_gt(wait_log_service(clock_monotonic_ns(), interval_ns),
			  clock_monotonic_ns());
}

START_TEST(a_thread_that_waits)
{
	static const char wanted[] = "state=waiting\ncause=pipe-read\ncall=read\non=pipe:[";
	uint64_t start_ns = clock_realtime_ns(), between_ns;
	struct wait_looks looks;
	pthread_t thread;
	bool waits = false;

	wait_look_detail(WAIT_ALL);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, reads, NULL), 0);
	for (int tries = 0; tries < 1000 && !waits; tries++) {
		usleep(1000);
		look();
		read_log(&looks, start_ns);
		waits = reader && !strncmp(text_at(&looks, clock_realtime_ns() - 100000), wanted,
					   strlen(wanted));
		wait_looks_free(&looks);
		between_ns = clock_realtime_ns();
		usleep(1000);
		look();
		read_log(&looks, start_ns);
		waits = reader && !strncmp(text_at(&looks, between_ns), wanted, strlen(wanted));
		wait_looks_free(&looks);
	}
	ck_assert(waits);
	wait_log_forget();
	read_log(&looks, start_ns);
	ck_assert_str_eq(text_at(&looks, between_ns), "");
	wait_looks_free(&looks);
	/* After the report it is found again, and its end is found. */
	look();
	usleep(1000);
	look();
	close(ends[1]);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	look();
	read_log(&looks, start_ns);
	ck_assert_uint_gt(looks.count, 0);
	wait_looks_free(&looks);
}
END_TEST

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *locks(void *unused)
{
	reader = (pid_t)syscall(SYS_gettid);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

/* The main thread owns the lock. */
START_TEST(a_lock_with_an_owner)
{
	char wanted[64];
	uint64_t start_ns = clock_realtime_ns(), between_ns;
	struct wait_looks looks;
	pthread_t thread;
	const char *found;
	bool has_owner = false;

	snprintf(wanted, sizeof(wanted), "owner=%d\n" WAIT_OWNER_IN "=pthread_mutex_\n", getpid());
	wait_look_detail(WAIT_ALL);
	reader = 0;
	pthread_mutex_lock(&lock);
	ck_assert_int_eq(pthread_create(&thread, NULL, locks, NULL), 0);
	for (int tries = 0; tries < 1000 && !has_owner; tries++) {
		look();
		usleep(1000);
		between_ns = clock_realtime_ns();
		usleep(1000);
		look();
		read_log(&looks, start_ns);
		found = strstr(text_at(&looks, between_ns), "owner=");
		has_owner = found && !strcmp(found, wanted);
		wait_looks_free(&looks);
	}
	pthread_mutex_unlock(&lock);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(has_owner);
	wait_log_forget();
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, a_thread_that_waits);
	tcase_add_test(tests, a_lock_with_an_owner);
	return suite_run(tests);
}
