/* engine/collect/wait_log: a thread that waits is logged with its cause from the first look to the last one. */
#include "engine/collect/wait_log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/text/hash.h"
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

#define PIPES 200
#define LOOKS 20

/* The lowest bits of the hash of the text of a thread that reads from FD. */
static uint32_t low_hash(int fd)
{
	char text[128];
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	snprintf(text, sizeof(text), "state=waiting\ncause=pipe-read\ncall=read\non=pipe:[%lu]\n",
		 (unsigned long)st.st_ino);
	return text_hash(text) % 512;
}

/* Two pipes whose texts have nearly the same hash. */
static void open_pipes(int found[2][2])
{
	int pipes[PIPES][2];

	for (int i = 0; i < PIPES; i++) {
		ck_assert_int_eq(pipe(pipes[i]), 0);
		for (int j = 0; j < i; j++) {
			if (low_hash(pipes[i][0]) != low_hash(pipes[j][0]))
				continue;
			memcpy(found[0], pipes[i], sizeof(pipes[i]));
			memcpy(found[1], pipes[j], sizeof(pipes[j]));
			return;
		}
	}
	ck_abort_msg("no two texts have nearly the same hash");
}

static void *reads_from(void *fd)
{
	char byte;

	while (read(*(int *)fd, &byte, 1) == 1)
		;
	return NULL;
}

/* Wait until the thread that reads from FD has taken all bytes, and waits for more. */
static void wait_for_reader(int fd)
{
	int bytes = 1;

	for (int tries = 0; tries < 10000 && bytes; tries++) {
		ck_assert_int_eq(ioctl(fd, FIONREAD, &bytes), 0);
		usleep(100);
	}
	ck_assert_int_eq(bytes, 0);
}

/* Texts are found again, also if their hashes are similar: a thread that waits for the same again is in one row. */
START_TEST(threads_with_similar_texts)
{
	uint64_t start_ns = clock_realtime_ns();
	struct wait_looks looks;
	pthread_t threads[2];
	int pipes[2][2];

	wait_look_detail(WAIT_ALL);
	open_pipes(pipes);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, reads_from, &pipes[i][0]), 0);
	for (int i = 0; i < LOOKS; i++) {
		for (int j = 0; j < 2; j++)
			ck_assert_int_eq(write(pipes[j][1], "", 1), 1);
		for (int j = 0; j < 2; j++)
			wait_for_reader(pipes[j][0]);
		look();
	}
	read_log(&looks, start_ns);
	/* Now and then, a look finds a thread before it waits. */
	ck_assert_uint_lt(looks.count, LOOKS);
	wait_looks_free(&looks);
	for (int i = 0; i < 2; i++) {
		close(pipes[i][1]);
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	}
	wait_log_forget();
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, a_thread_that_waits);
	tcase_add_test(tests, a_lock_with_an_owner);
	tcase_add_test(tests, threads_with_similar_texts);
	return suite_run(tests);
}
