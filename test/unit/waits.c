/* Waits of wall-clock samples: recorded, guessed, selected and merged. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/aggregate/memory_feed.h"
#include "profile/aggregate/profile.h"
#include "profile/waits/thread_times.h"
#include "profile/otlp/otlp_write.h"
#include "profile/pprof/pprof_labels.h"
#include "profile/waits/owner_stacks.h"
#include "profile/waits/wait_chains.h"
#include "profile/waits/wait_groups.h"
#include "profile/aggregate/wait_guess.h"
#include "profile/timed/timed_profile.h"
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

START_TEST(a_search_interns_nothing)
{
	struct intern names = INTERN_INIT;

	ck_assert_uint_eq(intern_find(&names, "a", 1), 0);
	ck_assert_uint_eq(intern(&names, "a", 1), 1);
	ck_assert_uint_eq(intern(&names, "", 0), 2);
	ck_assert_uint_eq(intern_find(&names, "a", 1), 1);
	ck_assert_uint_eq(intern_find(&names, NULL, 0), 2);
	ck_assert_uint_eq(intern_find(&names, "b", 1), 0);
	ck_assert_uint_eq(names.count, 2);
	intern_free(&names);
}
END_TEST

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
		{ { "___pthread_cond_wait", "os::PlatformEvent::park", "ObjectMonitor::EnterI" },
		  "libc.so.6",
		  false,
		  WAIT_LOCK,
		  NULL },
		{ { "___pthread_cond_wait", "ObjectMonitor::wait" },
		  "libc.so.6",
		  false,
		  WAIT_CONDITION,
		  NULL },
		{ { "__wait4", "do_system" }, "libc.so.6", false, WAIT_CHILD, NULL },
		{ { "select", "poll" }, "app", false, WAIT_NO_CAUSE, NULL },
		{ { "", "____" }, "libc.so.6", false, WAIT_NO_CAUSE, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wait_guess guess = { 0 };

		for (size_t k = 0; k < 3 && cases[i].names[k]; k++)
			wait_guess_add(&guess, cases[i].names[k], cases[i].library,
				       cases[i].is_kernel);
		ck_assert_msg(guess.cause == cases[i].cause, "%s: %s", cases[i].names[0],
			      jfr_wait_causes[guess.cause]);
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
	query.waits = WAIT_PARTS_OWNER;
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
	query.waits = WAIT_PARTS_NONE;
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
	query.waits = WAIT_PARTS_OWNER;
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

/* The timeline's reader reads the same waits. */
static void record_with_looks(const char *payer)
{
	int fd = memfd_create("waits", MFD_CLOEXEC);

	length = waits_record(fd, false);
	ck_assert_uint_gt(length, 0);
	length = waits_record_looks(fd, (off_t)length, payer);
	ck_assert_uint_gt(length, 0);
	recording = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(recording, MAP_FAILED);
	close(fd);
}

/* The wait of thread TID's samples in STATE and CAUSE. */
static void expect_joined(const struct profile *p, uint32_t tid, uint32_t state, uint32_t cause,
			  const char *on, bool is_derived)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct thread_key *thread = intern_key(&p->threads, p->samples[i].thread);
		const struct wait *wait = profile_wait(p, p->samples[i].wait);

		if (thread->tid != tid || wait->state != state || wait->cause != cause)
			continue;
		ck_assert_int_eq(wait->is_derived, is_derived);
		ck_assert_str_eq(intern_text(&p->names, wait->on), on);
		found++;
	}
	ck_assert_msg(found, "thread %u", tid);
}

/* Recordings of another engine: by thread and time, unless the stack shows another wait. */
START_TEST(joins_logged_states)
{
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT;

	record_with_looks(WAITS_LOOK_LOCK);
	query.waits = WAIT_PARTS_OWNER;
	read_profile(&p, &query);
	expect_joined(&p, 1001, WAIT_RUNNABLE, WAIT_NO_CAUSE, "", false);
	expect_joined(&p, 1001, WAIT_WAITING, WAIT_SOCKET_READ, "", true);
	expect_joined(&p, 1002, WAIT_WAITING, WAIT_IDLE, "", true);
	expect_joined(&p, 1003, WAIT_WAITING, WAIT_FILE, "/var/log/app.log", false);
	expect_joined(&p, 1004, WAIT_WAITING, WAIT_LOCK, "lock 0x7f20", false);
	expect_joined(&p, 1005, WAIT_WAITING, WAIT_LOCK, "", true);
	profile_free(&p);
	forget();
}
END_TEST

/* The owner that a look has found counts if its lock has the form that the stack shows. Its stack is that of its own
 * sample. */
static const struct {
	const char *payer;
	uint32_t owner;
} looks_with_owners[] = {
	{ WAITS_LOOK_LOCK "owner=1005\n" WAIT_OWNER_IN "=pthread_mutex_\n", 1005 },
	{ WAITS_LOOK_LOCK "owner=1006\n" WAIT_OWNER_IN "=pthread_mutex_\n",
	  1006 }, /* without samples */
	{ WAITS_LOOK_LOCK "owner=1005\n" WAIT_OWNER_IN "=pthread_rwlock_\n", 0 },
	{ WAITS_LOOK_LOCK "owner=1005\n" WAIT_OWNER_IN "=pthread_mutex\n", 0 },
	{ WAITS_LOOK_LOCK "owner=1005\n", 0 },
};

START_TEST(owners_in_logged_states)
{
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT;
	const struct wait *wait = NULL;
	uint32_t stack = 0;

	record_with_looks(looks_with_owners[_i].payer);
	query.waits = WAIT_PARTS_OWNER;
	read_profile(&p, &query);
	for (uint32_t i = 0; i < p.count; i++) {
		const struct thread_key *thread = intern_key(&p.threads, p.samples[i].thread);

		if (thread->tid == 1004)
			wait = profile_wait(&p, p.samples[i].wait);
		if (thread->tid == looks_with_owners[_i].owner)
			stack = p.samples[i].stack;
	}
	ck_assert_ptr_nonnull(wait);
	ck_assert_uint_eq(wait->owner, looks_with_owners[_i].owner);
	ck_assert_uint_eq(wait->owner_stack, stack);
	profile_free(&p);
	forget();
}
END_TEST

START_TEST(guesses_of_java)
{
	static const char *const of_lock[] = { "acquire", "acquire", "acquireInterruptibly" };
	static const char *const of_latch[] = { "acquire", "acquireSharedInterruptibly" };
	static const char class[] = "java/util/concurrent/locks/AbstractQueuedSynchronizer";
	struct wait_guess lock = { 0 }, latch = { 0 }, other = { 0 };

	wait_guess_add(&lock, "___pthread_cond_wait", "libc.so.6", false);
	latch = lock;
	for (size_t i = 0; i < 3; i++)
		wait_guess_add(&lock, of_lock[i], class, false);
	for (size_t i = 0; i < 2; i++)
		wait_guess_add(&latch, of_latch[i], class, false);
	wait_guess_add(&other, "acquire", "com/example/Pool", false);
	ck_assert_int_eq(lock.cause, WAIT_LOCK);
	ck_assert_int_eq(latch.cause, WAIT_CONDITION);
	ck_assert_int_eq(other.cause, WAIT_NO_CAUSE);
}
END_TEST

START_TEST(refines_guesses)
{
	static const struct {
		const char *name;
		enum wait_cause look, wanted;
		bool is_futex, fits;
	} cases[] = {
		{ "pthread_mutex_lock", WAIT_LOCK, WAIT_LOCK, true, true },
		{ "pthread_cond_wait", WAIT_LOCK, WAIT_CONDITION, true, true },
		{ "pthread_cond_wait", WAIT_FILE, 0, false, false },
		{ "epoll_wait", WAIT_TIMER, WAIT_TIMER, false, true },
		{ "poll", WAIT_SOCKET_READ, WAIT_SOCKET_READ, false, true },
		{ "poll", WAIT_LOCK, 0, true, false },
		{ "read", WAIT_PIPE_READ, WAIT_PIPE_READ, false, true },
		{ "read", WAIT_LOCK, 0, true, false },
		{ "nanosleep", WAIT_SOCKET_READ, 0, false, false },
		{ "JavaThread::sleep", WAIT_LOCK, WAIT_SLEEP, true, true },
		{ "unknown", WAIT_CHILD, WAIT_CHILD, false, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wait_guess guess = { 0 };
		uint32_t cause = cases[i].look;

		wait_guess_add(&guess, cases[i].name, "libc.so.6", false);
		ck_assert_msg(wait_guess_refine(&guess, &cause, cases[i].is_futex) == cases[i].fits,
			      "%zu", i);
		if (cases[i].fits)
			ck_assert_uint_eq(cause, cases[i].wanted);
	}
}
END_TEST

START_TEST(reads_waits_with_times)
{
	struct query query = QUERY_INIT;
	struct timed_profile timed;
	struct memory_feed feed;

	for (int recorded = 0; recorded < 2; recorded++) {
		record(recorded);
		query = (struct query)QUERY_INIT;
		query.waits = WAIT_PARTS_KIND;
		query.wait_guesses = true;
		memory_feed_init(&feed, recording, length);
		ck_assert_int_eq(timed_profile_read(&timed, &query, &feed.feed, METRIC_WALL, 10000),
				 0);
		ck_assert(count_of(&timed.profile, 0, 1u << WAIT_LOCK) == 300);
		ck_assert(count_of(&timed.profile, 1u << WAIT_RUNNABLE, 0) == (recorded ? 10 : 0));
		for (uint32_t i = 0; i < timed.profile.count; i++)
			ck_assert(profile_wait(&timed.profile, timed.profile.samples[i].wait)
					  ->is_derived == !recorded);
		timed_profile_free(&timed);
		query.causes = 1u << WAIT_SOCKET_READ;
		memory_feed_init(&feed, recording, length);
		ck_assert_int_eq(timed_profile_read(&timed, &query, &feed.feed, METRIC_WALL, 10000),
				 0);
		ck_assert(count_of(&timed.profile, 0, 0) == 20);
		timed_profile_free(&timed);
		forget();
	}
}
END_TEST

/* Both readers use states at most a sampling interval from a sample. One thread's only state is a second away. */
START_TEST(reads_equal_looks_with_times)
{
	struct query query = QUERY_INIT;
	struct timed_profile timed;
	struct memory_feed feed;
	struct profile profile = PROFILE_INIT;

	record_with_looks(WAITS_LOOK_LOCK);
	query.waits = WAIT_PARTS_KIND;
	query.wait_guesses = true;
	read_profile(&profile, &query);
	memory_feed_init(&feed, recording, length);
	ck_assert_int_eq(timed_profile_read(&timed, &query, &feed.feed, METRIC_WALL, 10000), 0);
	for (uint32_t cause = 0; cause < WAIT_CAUSES; cause++)
		ck_assert(count_of(&timed.profile, 0, 1u << cause) ==
			  count_of(&profile, 0, 1u << cause));
	ck_assert(count_of(&profile, 0, 1u << WAIT_TIMER) == 0);
	timed_profile_free(&timed);
	profile_free(&profile);
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
	query.waits = WAIT_PARTS_OWNER;
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

/* Read the recording with waits, and scale it. Returns the share of exact times. */
static double read_scaled(struct profile *p, struct query *query)
{
	struct thread_times times = { 0 };
	struct memory_feed feed;
	double exact;

	query->waits = WAIT_PARTS_OWNER;
	read_profile(p, query);
	memory_feed_init(&feed, recording, length);
	ck_assert_int_eq(thread_times_read(&times, p, query, &feed.feed), 0);
	exact = thread_times_scale(&times, p);
	thread_times_free(&times);
	return exact;
}

static void expect_states(const struct profile *p, double running, double runnable, double waiting)
{
	struct wait_groups g;

	ck_assert_int_eq(wait_groups_make(&g, p, WAIT_BY_CAUSE, 0, 0), 0);
	ck_assert_double_eq_tol(g.states[WAIT_RUNNING] / 1e9, running, 1e-6);
	ck_assert_double_eq_tol(g.states[WAIT_RUNNABLE] / 1e9, runnable, 1e-6);
	ck_assert_double_eq_tol(g.states[WAIT_WAITING] / 1e9, waiting, 1e-6);
	ck_assert_double_eq_tol(g.weight / 1e9, running + runnable + waiting, 1e-6);
	wait_groups_free(&g);
}

START_TEST(scales_to_exact_times)
{
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT;

	record(true);
	ck_assert_double_eq_tol(read_scaled(&p, &query), 0.2, 1e-6);
	expect_states(&p, 2, 3, 45);
	profile_free(&p);
	/* Half of the time has half of the exact times. The samples are at one second. */
	query.to = (struct moment){ .kind = MOMENT_ABSOLUTE,
				    .ns = (int64_t)(WAITS_START_NS + 5 * WAITS_SECOND) };
	read_scaled(&p, &query);
	expect_states(&p, 1, 1.5, 42.5);
	profile_free(&p);
	/* Less than half of the sampled time: not scaled. */
	query.to.ns -= (int64_t)(WAITS_SECOND / 10);
	ck_assert(read_scaled(&p, &query) == 0);
	expect_states(&p, 4, 1, 45);
	profile_free(&p);
	forget();
}
END_TEST

/* A state that has no sample, of a thread without any sample too. */
START_TEST(adds_times_without_a_sample)
{
	struct profile p = PROFILE_INIT;
	struct thread_time list[2] = { [1] = { .states = { 0, 1e9, 2e9, 3e9 } } };
	struct thread_times times = { .list = list, .capacity = 2 };
	struct thread_key thread = { .tid = 7 };

	ck_assert_uint_eq(intern(&p.threads, &thread, sizeof(thread)), 1);
	ck_assert(thread_times_scale(&times, &p) == 1);
	ck_assert_uint_eq(p.count, 3);
	expect_states(&p, 1, 2, 3);
	profile_free(&p);
}
END_TEST

START_TEST(groups)
{
	static const struct {
		enum wait_by by;
		uint32_t causes, count, threads;
		const char *heaviest;
		double samples;
	} cases[] = {
		{ WAIT_BY_CAUSE, 0, 6, 4, "lock", 300 },
		{ WAIT_BY_CAUSE, 1u << WAIT_FILE, 1, 1, "file", 100 },
		{ WAIT_BY_PEER, 0, 1, 1, "tcp 10.0.0.1:5432", 20 },
		{ WAIT_BY_FILE, 0, 1, 1, "/var/log/app.log", 100 },
		{ WAIT_BY_LOCK, 0, 3, 2, "lock 0x7f10 log_mutex", 100 },
		{ WAIT_BY_HOLDER, 0, 4, 1, "pay", 100 },
		{ WAIT_BY_THREAD, 0, 5, 1, "[flusher tid=1003]", 100 },
		{ WAIT_BY_THREAD, 1u << WAIT_SOCKET_READ, 1, 1, "[worker-1 tid=1001]", 20 },
		{ WAIT_BY_FILE, 1u << WAIT_GIL, 0, 0, "", 0 },
	};
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT;

	record(true);
	query.waits = WAIT_PARTS_OWNER;
	read_profile(&p, &query);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wait_groups g;

		ck_assert_int_eq(wait_groups_make(&g, &p, cases[i].by, 0, cases[i].causes), 0);
		ck_assert_uint_eq(g.count, cases[i].count);
		ck_assert_uint_eq(g.threads, 5);
		if (g.count) {
			ck_assert_str_eq(intern_text(&g.names, g.list[0].id), cases[i].heaviest);
			ck_assert(g.list[0].samples == cases[i].samples);
			ck_assert_uint_eq(g.list[0].threads, cases[i].threads);
		}
		wait_groups_free(&g);
	}
	profile_free(&p);
	forget();
}
END_TEST

START_TEST(owners)
{
	static const struct {
		const char *function, *lock;
		double count;
	} expected[] = {
		{ "pay", "account_b", 100 },
		{ "refund", "account_a", 100 },
		{ "flush_log", "log_mutex", 90 },
		{ "append_log", "log_mutex", 10 },
	};
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT;
	struct wait_owner *list;
	struct wait_groups g;
	double unknown;
	uint32_t count;

	record(true);
	query.waits = WAIT_PARTS_OWNER;
	read_profile(&p, &query);
	ck_assert_int_eq(wait_groups_make(&g, &p, WAIT_BY_CAUSE, 0, 0), 0);
	ck_assert_int_eq(wait_owners_list(&g, g.list[0].id, &list, &count, &unknown), 0);
	ck_assert_uint_eq(count, 4);
	ck_assert(unknown == 0);
	for (uint32_t i = 0; i < count; i++) {
		ck_assert_str_eq(profile_frame_name(&p, list[i].frame), expected[i].function);
		ck_assert_str_eq(wait_lock_name(intern_text(&p.names, list[i].on)),
				 expected[i].lock);
		ck_assert(list[i].weight == expected[i].count * 1e8);
	}
	free(list);
	wait_groups_free(&g);
	profile_free(&p);
	forget();
}
END_TEST

START_TEST(lock_names)
{
	static const char *const cases[][2] = {
		{ "lock 0x7f10 log_mutex", "log_mutex" },
		{ "lock 0x7f10", "0x7f10" },
		{ "lock 0x7f10 ", "0x7f10 " },
		{ "lock", "lock" },
		{ "GIL", "GIL" },
		{ "", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_str_eq(wait_lock_name(cases[i][0]), cases[i][1]);
}
END_TEST

START_TEST(chains)
{
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT;
	struct wait_chains c;
	unsigned followed = 0;

	record(true);
	query.waits = WAIT_PARTS_OWNER;
	read_profile(&p, &query);
	ck_assert_int_eq(wait_chains_make(&c, &p), 0);
	ck_assert_uint_eq(c.deadlocks, 1);
	for (uint32_t i = 0; i < p.count; i++) {
		const struct wait *wait = profile_wait(&p, p.samples[i].wait);

		if (wait->owner == 1003) {
			ck_assert_uint_ne(c.next[i], 0);
			wait = profile_wait(&p, p.samples[c.next[i] - 1].wait);
			ck_assert_uint_eq(wait->cause, WAIT_FILE);
			ck_assert_uint_eq(c.deadlock[i], 0);
			followed++;
		} else {
			/* The owner of thread 1002's other wait is running. */
			ck_assert_int_eq(c.next[i] != 0, wait->owner > 1003);
			ck_assert_uint_eq(c.deadlock[i], wait->owner > 1003);
		}
	}
	ck_assert_uint_eq(followed, 2);
	wait_chains_free(&c);
	profile_free(&p);
	forget();
}
END_TEST

/* Two of three samples at one place have an owner's stack; at another place none has. */
START_TEST(spreads_waits_without_an_owner_stack)
{
	static const struct {
		uint32_t stack, owner, owner_stack;
		double count, expected; /* expected 0: removed */
	} rows[] = {
		{ 1, 7, 5, 30, 60 }, { 1, 7, 6, 10, 20 }, { 1, 7, 0, 40, 0 },
		{ 2, 7, 0, 50, 50 }, { 1, 8, 0, 60, 60 }, { 1, 0, 0, 70, 70 },
	};
	struct profile p = PROFILE_INIT;
	uint32_t kept = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wait wait = { .state = WAIT_WAITING,
				     .cause = WAIT_LOCK,
				     .owner = rows[i].owner,
				     .owner_stack = rows[i].owner_stack };
		struct sample sample = { .stack = rows[i].stack,
					 .metric = METRIC_WALL,
					 .wait = intern(&p.waits, &wait, sizeof(wait)),
					 .count = rows[i].count,
					 .total = rows[i].count * 10 };

		profile_add_equal(&p, &sample);
	}
	ck_assert_int_eq(owner_stacks_spread(&p), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].expected == 0)
			continue;
		ck_assert_double_eq_tol(p.samples[kept].count, rows[i].expected, 1e-9);
		ck_assert_double_eq_tol(p.samples[kept].total, rows[i].expected * 10, 1e-9);
		kept++;
	}
	ck_assert_uint_eq(p.count, kept);
	profile_free(&p);
}
END_TEST

static bool has_string(const struct pprof *out, const char *wanted)
{
	for (uint32_t id = 1; id <= out->strings.count; id++)
		if (!strcmp(intern_text(&out->strings, id), wanted))
			return true;
	return false;
}

/* The labels of the waits for a file and for a peer, without the thread's. */
START_TEST(labels_of_pprof)
{
	static const struct {
		bool for_pyroscope;
		const char *context, *wanted[6], *unwanted[3];
	} cases[] = {
		{ false,
		  "",
		  { "state", "waiting", "cause", "file", "on", "tcp 10.0.0.1:5432" },
		  { NULL } },
		{ true, "", { "state", "waiting", "cause", "file" }, { "on", "/var/log/app.log" } },
		{ false, "cause=mine\n", { "state", "cause", "mine", "on" }, { "file" } },
	};
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT;
	struct libraries libraries = { 0 };

	record(true);
	query.waits = WAIT_PARTS_OBJECT;
	query.causes = 1u << WAIT_FILE | 1u << WAIT_SOCKET_READ;
	query.no_threads = true;
	read_profile(&p, &query);
	ck_assert_uint_eq(p.count, 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf buf = BUF_INIT(1 << 20);
		struct pprof out;

		ck_assert_int_eq(pprof_open(&out, NULL, &buf, &p, &libraries), 0);
		out.selects_labels = cases[i].for_pyroscope;
		for (uint32_t k = 0; k < p.count; k++) {
			p.samples[k].context = intern_string(&p.names, cases[i].context);
			pprof_append_labels(&out, &p.samples[k]);
		}
		for (size_t k = 0; k < 6 && cases[i].wanted[k]; k++)
			ck_assert_msg(has_string(&out, cases[i].wanted[k]), "%zu: %s", i,
				      cases[i].wanted[k]);
		for (size_t k = 0; k < 3 && cases[i].unwanted[k]; k++)
			ck_assert_msg(!has_string(&out, cases[i].unwanted[k]), "%zu: %s", i,
				      cases[i].unwanted[k]);
		ck_assert_int_eq(pprof_close(&out), 0);
		buf_free(&buf);
	}
	profile_free(&p);
	forget();
}
END_TEST

START_TEST(attributes_of_otlp)
{
	static const char *const wanted[] = { "thread.state", "running", "wait.cause",
					      "socket-read",  "wait.on", "tcp 10.0.0.1:5432" };
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT;
	struct libraries libraries = { 0 };
	struct otlp_message message = { .profile = &p, .libraries = &libraries };
	struct buf out = BUF_INIT(1 << 20);

	record(true);
	query.waits = WAIT_PARTS_OBJECT;
	read_profile(&p, &query);
	message.to = p.count;
	ck_assert_int_eq(otlp_write(&out, &message), 0);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		ck_assert_msg(memmem(out.data, out.length, wanted[i], strlen(wanted[i])), "%s",
			      wanted[i]);
	buf_free(&out);
	profile_free(&p);
	forget();
}
END_TEST

/* More parts make more samples. */
START_TEST(stores_the_requested_parts)
{
	static const struct {
		enum wait_parts parts;
		uint32_t count;
	} cases[] = {
		{ WAIT_PARTS_NONE, 8 },
		{ WAIT_PARTS_KIND, 9 },
		{ WAIT_PARTS_OBJECT, 9 },
		{ WAIT_PARTS_OWNER, 10 },
	};

	record(true);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct query query = QUERY_INIT;
		struct profile p = PROFILE_INIT;

		query.waits = cases[i].parts;
		read_profile(&p, &query);
		ck_assert_uint_eq(p.count, cases[i].count);
		for (uint32_t k = 0; k < p.count; k++) {
			const struct wait *wait = profile_wait(&p, p.samples[k].wait);

			ck_assert_int_eq(!wait->state, cases[i].parts == WAIT_PARTS_NONE);
			ck_assert(!wait->on || cases[i].parts >= WAIT_PARTS_OBJECT);
			ck_assert(!wait->owner || cases[i].parts == WAIT_PARTS_OWNER);
			ck_assert(!wait->owner_stack || cases[i].parts == WAIT_PARTS_OWNER);
		}
		profile_free(&p);
	}
	forget();
}
END_TEST

/* Stacks of the samples that wait for OWNER, outermost frame first. */
static void expect_stack(const struct profile *p, uint32_t owner, const char *expected)
{
	struct buf text = BUF_INIT(4096);
	bool found = false;

	for (uint32_t i = 0; i < p->count; i++) {
		const uint32_t *frames = intern_key(&p->stacks, p->samples[i].stack);
		uint32_t depth = intern_length(&p->stacks, p->samples[i].stack) / sizeof(*frames);

		if (profile_wait(p, p->samples[i].wait)->owner != owner)
			continue;
		buf_reset(&text);
		for (uint32_t k = depth; k-- > 0;)
			buf_printf(&text, "%s%s", profile_frame_name(p, frames[k]), k ? ";" : "");
		ck_assert_str_eq(buf_string(&text), expected);
		found = true;
	}
	ck_assert(found);
	buf_free(&text);
}

START_TEST(appends_owner_stacks)
{
	struct query query = QUERY_INIT;
	struct profile p = PROFILE_INIT;

	record(true);
	query.waits = WAIT_PARTS_OWNER;
	read_profile(&p, &query);
	ck_assert_int_eq(owner_stacks_append(&p), 0);
	expect_stack(&p, 1003,
		     "main;append_log;___pthread_mutex_lock;[lock log_mutex held by [flusher "
		     "tid=1003]];main;flush_log;fsync");
	expect_stack(&p, 1001,
		     "main;append_log;___pthread_mutex_lock;[lock log_mutex held by [worker-1 "
		     "tid=1001]];main;append_log");
	expect_stack(&p, 1005,
		     "main;pay;___pthread_mutex_lock;[lock account_a held by [refunder tid=1005]];"
		     "main;refund;___pthread_mutex_lock;[lock account_b held by [payer tid=1004]];"
		     "main;pay;___pthread_mutex_lock;[deadlock]");
	profile_free(&p);
	forget();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("waits");

	tcase_add_test(tcase, a_search_interns_nothing);
	tcase_add_test(tcase, parses);
	tcase_add_test(tcase, guesses);
	tcase_add_test(tcase, reads_recorded_waits);
	tcase_add_test(tcase, derives_waits);
	tcase_add_test(tcase, joins_logged_states);
	tcase_add_loop_test(tcase, owners_in_logged_states, 0,
			    sizeof(looks_with_owners) / sizeof(looks_with_owners[0]));
	tcase_add_test(tcase, guesses_of_java);
	tcase_add_test(tcase, refines_guesses);
	tcase_add_test(tcase, reads_waits_with_times);
	tcase_add_test(tcase, reads_equal_looks_with_times);
	tcase_add_test(tcase, selects);
	tcase_add_test(tcase, merges);
	tcase_add_test(tcase, scales_to_exact_times);
	tcase_add_test(tcase, adds_times_without_a_sample);
	tcase_add_test(tcase, spreads_waits_without_an_owner_stack);
	tcase_add_test(tcase, labels_of_pprof);
	tcase_add_test(tcase, attributes_of_otlp);
	tcase_add_test(tcase, stores_the_requested_parts);
	tcase_add_test(tcase, groups);
	tcase_add_test(tcase, owners);
	tcase_add_test(tcase, lock_names);
	tcase_add_test(tcase, chains);
	tcase_add_test(tcase, appends_owner_stacks);
	return suite_run(tcase);
}
