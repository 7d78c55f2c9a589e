/* Waits of wall-clock samples: recorded, guessed, selected and merged. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/aggregate/memory_feed.h"
#include "profile/aggregate/profile.h"
#include "profile/aggregate/wait_guess.h"
#include "test/fixtures/jfr_waits.h"
#include "test/fixtures/suite.h"

static uint8_t *recording;
static size_t length;

static void record(bool with_waits)
{
	int fd = memfd_create("waits", MFD_CLOEXEC);

	length = waits_record(fd, with_waits);
	ck_assert_uint_gt(length, 0);
	recording = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(recording, MAP_FAILED);
	close(fd);
}

static void forget(void)
{
	munmap(recording, length);
}

static void read_profile(struct profile *profile, const struct query *query)
{
	struct memory_feed feed;

	memory_feed_init(&feed, recording, length);
	ck_assert_int_eq(profile_read(profile, query, &feed.feed, 1u << METRIC_WALL), 0);
}

static double count_of(const struct profile *p, uint32_t states, uint32_t causes)
{
	double count = 0;

	for (uint32_t i = 0; i < p->count; i++)
		if (wait_matches(profile_wait(p, p->samples[i].wait), states, causes))
			count += p->samples[i].count;
	return count;
}

START_TEST(parses)
{
	static const struct {
		const char *lines;
		uint32_t state, cause, owner;
		const char *call, *on;
	} cases[] = {
		{ "state=running\n", WAIT_RUNNING, 0, 0, "", "" },
		{ "state=runnable", WAIT_RUNNABLE, 0, 0, "", "" },
		{ "state=waiting\ncause=page-fault\n", WAIT_WAITING, WAIT_PAGE_FAULT, 0, "", "" },
		{ "state=waiting\ncause=lock\ncall=futex\non=lock 0x1 a=b\nowner=12\n",
		  WAIT_WAITING, WAIT_LOCK, 12, "futex", "lock 0x1 a=b" },
		{ "cause=lockk\nstate=dreaming\nowner=x\nnew=1\n", 0, 0, 0, "", "" },
		{ "state=\ncause=\ncall=\non=\n", 0, 0, 0, "", "" },
		{ "", 0, 0, 0, "", "" },
	};
	struct intern names = INTERN_INIT;
	struct wait wait;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wait_parse(&wait, cases[i].lines, &names);
		ck_assert_uint_eq(wait.state, cases[i].state);
		ck_assert_uint_eq(wait.cause, cases[i].cause);
		ck_assert_uint_eq(wait.owner, cases[i].owner);
		ck_assert_str_eq(intern_text(&names, wait.call), cases[i].call);
		ck_assert_str_eq(intern_text(&names, wait.on), cases[i].on);
	}
	intern_free(&names);
}
END_TEST

START_TEST(guesses)
{
	static const struct {
		const char *names[3], *library;
		bool is_kernel;
		enum wait_cause cause;
		const char *call;
	} cases[] = {
		{ { "__futex_abstimed_wait_common", "___pthread_cond_wait" },
		  "libc.so.6",
		  false,
		  WAIT_CONDITION,
		  NULL },
		{ { "__lll_lock_wait", "___pthread_mutex_lock" },
		  "libc.so.6",
		  false,
		  WAIT_LOCK,
		  NULL },
		{ { "__futex_abstimed_wait_common64", "__new_sem_wait_slow64.constprop.0" },
		  "/lib/libc-2.31.so",
		  false,
		  WAIT_SEMAPHORE,
		  NULL },
		{ { "__timedwait", "pthread_cond_timedwait" },
		  "ld-musl-x86_64.so.1",
		  false,
		  WAIT_CONDITION,
		  NULL },
		{ { "__futex_wait", "pthread_cond_timedwait", "take_gil" },
		  "libc.so.6",
		  false,
		  WAIT_GIL,
		  NULL },
		{ { "__GI___poll" }, "libc.so.6", false, WAIT_IDLE, NULL },
		{ { "do_epoll_wait", "__x64_sys_epoll_wait" }, "[kernel]", true, WAIT_IDLE, NULL },
		{ { "anon_pipe_read", "__x64_sys_read", "__read" },
		  "[kernel]",
		  true,
		  WAIT_PIPE_READ,
		  NULL },
		{ { "clock_nanosleep@@GLIBC_2.17", "usleep" },
		  "libc.so.6",
		  false,
		  WAIT_SLEEP,
		  NULL },
		{ { "__libc_read" }, "libc.so.6", false, WAIT_SYSCALL, "read" },
		{ { "__libc_recv" }, "libpthread-2.17.so", false, WAIT_SOCKET_READ, NULL },
		{ { "runtime.futex", "runtime.futexsleep" }, "server", false, WAIT_LOCK, NULL },
		{ { "__wait4", "do_system" }, "libc.so.6", false, WAIT_CHILD, NULL },
		{ { "select", "poll" }, "app", false, WAIT_CAUSE_UNKNOWN, NULL },
		{ { "", "____" }, "libc.so.6", false, WAIT_CAUSE_UNKNOWN, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wait_guess guess = { 0 };

		for (size_t k = 0; k < 3 && cases[i].names[k]; k++)
			wait_guess_add(&guess, cases[i].names[k], cases[i].library,
				       cases[i].is_kernel);
		ck_assert_msg(guess.cause == cases[i].cause, "%s: %s", cases[i].names[0],
			      wait_cause_names[guess.cause]);
		ck_assert(!guess.call == !cases[i].call);
		if (guess.call)
			ck_assert_str_eq(guess.call, cases[i].call);
	}
}
END_TEST

START_TEST(reads_recorded_waits)
{
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT;
	bool found = false;

	record(true);
	query.waits = true;
	read_profile(&p, &query);
	ck_assert(count_of(&p, 0, 0) == 500);
	ck_assert(count_of(&p, 1u << WAIT_RUNNING, 0) == 40);
	ck_assert(count_of(&p, 1u << WAIT_RUNNABLE, 0) == 10);
	ck_assert(count_of(&p, 0, 1u << WAIT_LOCK) == 300);
	ck_assert(count_of(&p, 0, 1u << WAIT_FILE | 1u << WAIT_IDLE) == 130);
	for (uint32_t i = 0; i < p.count; i++) {
		const struct wait *wait = profile_wait(&p, p.samples[i].wait);
		const uint32_t *owner = intern_key(&p.stacks, wait->owner_stack);

		if (wait->owner != 1003)
			continue;
		found = true;
		ck_assert_str_eq(intern_text(&p.names, wait->on), "lock 0x7f10 log_mutex");
		ck_assert_str_eq(profile_frame_name(&p, owner[1]), "flush_log");
		ck_assert(!wait->is_derived);
	}
	ck_assert(found);
	profile_free(&p);
	/* Without a request there is one sample for each stack and thread. */
	query.waits = false;
	read_profile(&p, &query);
	ck_assert_uint_eq(p.waits.count, 0);
	ck_assert_uint_eq(p.count, 8);
	profile_free(&p);
	forget();
}
END_TEST

START_TEST(derives_waits)
{
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT;

	record(false);
	query.waits = true;
	read_profile(&p, &query);
	ck_assert(count_of(&p, 1u << WAIT_RUNNING, 0) == 50);
	ck_assert(count_of(&p, 0, 1u << WAIT_LOCK) == 300);
	ck_assert(count_of(&p, 0, 1u << WAIT_SOCKET_READ) == 20);
	for (uint32_t i = 0; i < p.count; i++)
		ck_assert(profile_wait(&p, p.samples[i].wait)->is_derived);
	profile_free(&p);
	forget();
}
END_TEST

START_TEST(selects)
{
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT;

	record(true);
	query.causes = 1u << WAIT_SOCKET_READ;
	read_profile(&p, &query);
	ck_assert_uint_eq(p.count, 1);
	ck_assert(p.samples[0].count == 20);
	ck_assert_uint_eq(p.samples[0].wait, 0);
	profile_free(&p);
	query.states = 1u << WAIT_RUNNING;
	read_profile(&p, &query);
	ck_assert_uint_eq(p.count, 0);
	profile_free(&p);
	query.causes = 0;
	read_profile(&p, &query);
	ck_assert(p.samples[0].count == 40);
	profile_free(&p);
	forget();
}
END_TEST

START_TEST(merges)
{
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT, all = PROFILE_INIT;
	uint32_t count;

	record(true);
	query.waits = true;
	intern_string(&all.names, "another name");
	intern_string(&all.stacks, "four"); /* of one frame */
	read_profile(&p, &query);
	count = p.count;
	profile_merge(&all, &p);
	profile_merge(&all, &p);
	profile_free(&p);
	ck_assert_uint_eq(all.count, count);
	ck_assert(count_of(&all, 0, 1u << WAIT_LOCK) == 600);
	for (uint32_t i = 0; i < all.count; i++) {
		const struct wait *wait = profile_wait(&all, all.samples[i].wait);
		const uint32_t *owner = intern_key(&all.stacks, wait->owner_stack);

		if (wait->owner == 1003)
			ck_assert_str_eq(profile_frame_name(&all, owner[1]), "flush_log");
		if (wait->cause == WAIT_FILE)
			ck_assert_str_eq(intern_text(&all.names, wait->on), "/var/log/app.log");
	}
	profile_free(&all);
	forget();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("waits");

	tcase_add_test(tcase, parses);
	tcase_add_test(tcase, guesses);
	tcase_add_test(tcase, reads_recorded_waits);
	tcase_add_test(tcase, derives_waits);
	tcase_add_test(tcase, selects);
	tcase_add_test(tcase, merges);
	return suite_run(tcase);
}
