/* engine/collect/wall: every thread is counted once per interval, and interrupted only when it has
 * run. This file fakes the threads, their CPU time, the recording and the time; it replaces the
 * modules that wall.c calls. */
#include "engine/collect/wall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/clock.h"
#include "core/random.h"
#include "core/shared.h"
#include "engine/collect/tick_rate.h"
#include "engine/runtime/runtimes.h"
#include "engine/sample/ready_wait.h"
#include "engine/wait/wait_owner.h"
#include "engine/wait/wait_stack.h"
#include "test/fixtures/no_memory.h"
#include "test/fixtures/suite.h"

#define MS       ((uint64_t)1000000)
#define INTERVAL (100 * MS)
#define START    (1000 * MS)

#define THREADS 40

static struct {
	struct thread slot;
	uint64_t cpu_ns;
	unsigned interrupted;
	bool is_under_way;
} threads[THREADS];
static size_t thread_count;
static unsigned looks;   /* scans of all threads */
static unsigned counted; /* updates of a thread's own counter */
static bool can_interrupt;
static uint64_t phase_ns, phase_below_ns;

static struct event {
	uint64_t ticks, span;
	pid_t tid;
	uint32_t stack;
	enum jfr_thread_state state;
	uint32_t samples;
	char wait[64];
	uint32_t owner_stack;
} events[4];
static size_t event_count;
static bool cut; /* whether the stack of the next sample is truncated */

void threads_each(void (*visit)(void *context, struct thread *thread), void *context)
{
	looks++;
	for (size_t i = 0; i < thread_count; i++)
		visit(context, &threads[i].slot);
}

struct thread *thread_slot_find(pid_t tid)
{
	for (size_t i = 0; i < thread_count; i++)
		if (atomic_load(&threads[i].slot.tid) == tid &&
		    !atomic_load(&threads[i].slot.ended))
			return &threads[i].slot;
	return NULL;
}

void threads_counted(struct thread *t, uint64_t ticks)
{
	ck_assert_uint_ge(ticks, wall_state(t)->last);
	counted++;
}

static size_t thread_of(const struct thread_clock *clock)
{
	size_t i = 0;

	while (&threads[i].slot.clock != clock)
		ck_assert_uint_lt(++i, thread_count);
	return i;
}

uint64_t thread_clock_cpu(const struct thread_clock *clock)
{
	return threads[thread_of(clock)].cpu_ns;
}

bool thread_clock_interrupt(struct thread_clock *clock)
{
	threads[thread_of(clock)].interrupted++;
	threads[thread_of(clock)].is_under_way = can_interrupt;
	return can_interrupt;
}

bool thread_clock_is_under_way(const struct thread_clock *clock)
{
	return threads[thread_of(clock)].is_under_way;
}

uint64_t random_below(uint64_t bound)
{
	phase_below_ns = bound;
	return phase_ns;
}

/* A stack is its innermost address and the number of further frames. */
static uint32_t stack_id(uintptr_t innermost, size_t depth, bool truncated)
{
	return (uint32_t)(innermost * 100 + depth * 2 + truncated);
}

uint32_t jfr_stack(struct jfr_writer *w, const uintptr_t *pcs, size_t count, bool truncated)
{
	(void)w;
	return stack_id(count ? pcs[0] : 0, count, truncated);
}

/* A context is its span id. */
static uint32_t context_now;

uint32_t jfr_context(struct jfr_writer *w, const struct jfr_context *context)
{
	(void)w;
	return context->span_id[0];
}

void jfr_use_context(struct jfr_writer *w, uint32_t id)
{
	(void)w;
	context_now = id;
}

/* A wait is its lines. */
static char wait_now[64];
static uint32_t owner_stack_now;

uint32_t jfr_wait_description(struct jfr_writer *w, const char *lines, size_t length)
{
	(void)w;
	snprintf(wait_now, sizeof(wait_now), "%.*s", (int)length, lines);
	return 1;
}

void jfr_use_wait(struct jfr_writer *w, const struct jfr_wait *wait)
{
	(void)w;
	ck_assert_uint_eq(wait->description, 1);
	owner_stack_now = wait->owner_stack;
}

/* What looks find; unknown: looks are off. */
static struct wait found;
static unsigned looked, looked_late; /* late: after a signal that wakes the thread */

bool wait_look_is_on(void)
{
	return found.state != WAIT_UNKNOWN;
}

void wait_look(struct wait *wait, pid_t tid, uint64_t cpu_ns, struct wait_seen *seen)
{
	(void)cpu_ns, (void)seen;
	ck_assert_int_ge(tid, 100);
	looked += wait_look_is_on();
	looked_late += threads[tid - 100].is_under_way;
	wait_clear(wait);
	*wait = found;
}

void wait_set_call(struct wait *wait, pid_t tid, const struct thread_call *call)
{
	(void)tid;
	wait->number = call->number;
	wait->sp = call->sp;
	wait->pc = call->pc;
	wait->first = call->arguments[0];
}

/* By the open file, and by any file. */
static bool is_over, has_ended;

bool wait_is_over(const struct wait_seen *seen)
{
	(void)seen;
	return is_over;
}

bool wait_has_ended(pid_t tid, struct wait_seen *seen)
{
	(void)seen;
	ck_assert_int_ge(tid, 100);
	return has_ended;
}

void wait_seen_clear(struct wait_seen *seen)
{
	*seen = (struct wait_seen){ 0 };
}

void wait_set_cause_by_stack(struct wait *wait, struct symbols *symbols, const uintptr_t *pcs,
			     size_t count)
{
	(void)symbols;
	if (wait->is_futex && count)
		wait->cause = pcs[0] == 0x20 ? WAIT_CONDITION : WAIT_LOCK;
	if (wait->cause != WAIT_LOCK)
		wait->owner = 0;
}

/* Each thread waits for the next one. */
static bool is_chain;

void wait_find_owner(struct wait *wait, pid_t tid)
{
	wait->owner = is_chain ? tid + 1 : found.owner;
	wait->is_handed_over = found.is_handed_over;
}

bool runtimes_lock_at(uintptr_t futex, pid_t *holder)
{
	(void)futex;
	*holder = 0;
	return false;
}

uint64_t tick_rate_ns(uint64_t ticks)
{
	return ticks;
}

void jfr_wall_sample(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack,
		     enum jfr_thread_state state, uint64_t samples, uint64_t span_ticks)
{
	(void)w;
	ck_assert_uint_lt(event_count, sizeof(events) / sizeof(events[0]));
	events[event_count] = (struct event){
		ticks, span_ticks, tid, stack, state, (uint32_t)samples, "", owner_stack_now,
	};
	owner_stack_now = 0;
	memcpy(events[event_count++].wait, wait_now, sizeof(wait_now));
	wait_now[0] = '\0';
}

static enum ready_wait_end end_before, end_now;

/* Thread I has taken the signal: on a stack of DEPTH from INNERMOST on. */
static void answer(size_t i, enum jfr_thread_state state, uintptr_t innermost, size_t depth,
		   pid_t tid)
{
	threads[i].is_under_way = false;
	struct sample *s = calloc(1, sizeof(*s) + depth * sizeof(uintptr_t));
	uintptr_t *pcs;

	ck_assert_ptr_nonnull(s);
	pcs = s->pcs;
	s->kind = SAMPLE_WALL;
	s->state = (uint8_t)state;
	s->tid = tid;
	s->ticks = 7;
	s->truncated = cut;
	s->count = (uint32_t)depth;
	s->args[0] = (uintptr_t)&threads[i].slot;
	s->args[1] = threads[i].cpu_ns;
	s->args[2] = ready_waits_pack(end_before, end_now);
	for (size_t at = 0; at < depth; at++)
		pcs[at] = innermost + at;
	wall_record(NULL, s);
	free(s);
}

static void sleeps(size_t i, uintptr_t innermost)
{
	answer(i, JFR_STATE_SLEEPING, innermost, 3, threads[i].slot.tid);
}

static void runs(size_t i, uintptr_t innermost)
{
	answer(i, JFR_STATE_RUNNABLE, innermost, 3, threads[i].slot.tid);
}

static void expect_event(size_t at, pid_t tid, uintptr_t innermost, enum jfr_thread_state state,
			 uint32_t samples)
{
	ck_assert_uint_lt(at, event_count);
	ck_assert_int_eq(events[at].tid, tid);
	ck_assert_uint_eq(events[at].stack, stack_id(innermost, 3, false));
	ck_assert_int_eq(events[at].state, state);
	ck_assert_uint_eq(events[at].samples, samples);
	ck_assert_uint_eq(events[at].ticks, 7);
}

/* Thread 0 is due at START, and every interval after that. */
static void begin(size_t count)
{
	thread_count = count;
	for (size_t i = 0; i < count; i++)
		threads[i].slot = (struct thread){ .tid = (pid_t)(100 + i), .index = (uint32_t)i };
	wall_start(INTERVAL);
	phase_ns = 0;
}

static void setup(void)
{
	memset(threads, 0, sizeof(threads));
	thread_count = event_count = 0;
	looks = counted = looked = looked_late = 0;
	cut = is_chain = false;
	found = (struct wait){ 0 };
	is_over = has_ended = false;
	end_before = end_now = READY_WAIT_UNKNOWN;
	can_interrupt = true;
}

static void teardown(void)
{
	wall_stop();
	shared->preload.code_bytes = 0;
}

/* The visits of NUMBER intervals from START on; the first is FIRST. */
static void visit(unsigned first, unsigned number)
{
	for (unsigned i = first; i < first + number; i++)
		wall_visit(START + i * INTERVAL);
}

START_TEST(off)
{
	begin(1);
	wall_stop();
	ck_assert_uint_eq(wall_visit(START), UINT64_MAX);
	ck_assert_uint_eq(threads[0].interrupted, 0);
}
END_TEST

START_TEST(first_visit_is_anywhere_in_the_interval)
{
	begin(1);
	phase_ns = 30 * MS;
	ck_assert_uint_eq(wall_visit(START), START + 30 * MS);
	ck_assert_uint_eq(phase_below_ns, INTERVAL);
	ck_assert_uint_eq(threads[0].interrupted, 0);
	ck_assert_uint_eq(wall_visit(START + 30 * MS - 1), START + 30 * MS);
	ck_assert_uint_eq(threads[0].interrupted, 0);
	ck_assert_uint_eq(wall_visit(START + 30 * MS), START + 30 * MS + INTERVAL);
	ck_assert_uint_eq(threads[0].interrupted, 1);
}
END_TEST

/* 30 ms of 100 ms were left: 300 ms of a second; and then 30 ms of that: 3 ms of 100 ms. */
START_TEST(the_next_visit_changes_with_the_interval)
{
	unsigned before;

	begin(1);
	phase_ns = 0;
	wall_visit(START);
	wall_state(&threads[0].slot)->due_ns = START + INTERVAL;
	ck_assert_uint_eq(wall_visit(START + INTERVAL), START + 2 * INTERVAL);
	wall_change(10 * INTERVAL, START + 2 * INTERVAL - 30 * MS);
	wall_visit(START + 2 * INTERVAL);
	before = threads[0].interrupted;
	wall_change(INTERVAL, START + 2 * INTERVAL + 240 * MS);
	wall_visit(START + 2 * INTERVAL + 243 * MS - 10);
	ck_assert_uint_eq(threads[0].interrupted, before);
	wall_change(INTERVAL, START + 2 * INTERVAL + 243 * MS - 10);
	wall_visit(START + 2 * INTERVAL + 243 * MS + 10);
	ck_assert_uint_eq(threads[0].interrupted, before + 1);
}
END_TEST

/* The sample of 10 visits arrives when an interval is 5 times as long: it stands for the same time. */
START_TEST(owed_visits_change_with_the_interval)
{
	begin(1);
	visit(0, 10);
	wall_flush(NULL);
	wall_change(5 * INTERVAL, START + 9 * INTERVAL);
	runs(0, 0x10);
	ck_assert_uint_eq(event_count, 1);
	expect_event(0, 100, 0x10, JFR_STATE_RUNNABLE, 2);
}
END_TEST

/* The time without wall-clock samples is not counted. */
START_TEST(off_for_a_while)
{
	begin(1);
	wall_visit(START);
	sleeps(0, 0x10);
	wall_change(UINT64_MAX, START + 1);
	ck_assert_uint_eq(wall_visit(START + INTERVAL), UINT64_MAX);
	wall_change(INTERVAL, START + 1000 * INTERVAL);
	wall_visit(START + 1000 * INTERVAL);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 1);
	expect_event(0, 100, 0x10, JFR_STATE_SLEEPING, 2);
}
END_TEST

START_TEST(nothing_to_do_before_the_next_visit)
{
	unsigned before;

	begin(1);
	ck_assert_uint_eq(wall_visit(START), START + INTERVAL);
	before = looks;
	ck_assert_uint_eq(wall_visit(START + INTERVAL - 1), START + INTERVAL);
	ck_assert_uint_eq(looks, before);
	wall_visit(START + INTERVAL);
	ck_assert_uint_eq(looks, before + 1);
}
END_TEST

START_TEST(no_thread)
{
	begin(0);
	ck_assert_uint_eq(wall_visit(START), START + INTERVAL);
}
END_TEST

/* Each visit would wake the agent's thread. */
START_TEST(few_threads_are_visited_in_one_round)
{
	begin(2);
	wall_state(&threads[0].slot)->due_ns = START;
	wall_state(&threads[1].slot)->due_ns = START + 20 * MS;
	for (unsigned i = 0; i < 5; i++) {
		ck_assert_uint_eq(wall_visit(START + i * INTERVAL), START + (i + 1) * INTERVAL);
		ck_assert_uint_eq(threads[0].interrupted, i + 1);
		ck_assert_uint_eq(threads[1].interrupted, i);
	}
}
END_TEST

/* 40 threads have 3 rounds; each thread is visited in the first one after it is due. */
START_TEST(many_threads_are_visited_in_several_rounds)
{
	begin(THREADS);
	for (size_t i = 0; i < THREADS; i++)
		wall_state(&threads[i].slot)->due_ns = START + i * INTERVAL / THREADS;
	for (unsigned i = 0; i < 6; i++)
		ck_assert_uint_eq(wall_visit(START + i * (INTERVAL / 3)),
				  START + (i + 1) * (INTERVAL / 3));
	ck_assert_uint_eq(threads[0].interrupted, 2);
	ck_assert_uint_eq(threads[1].interrupted, 2);
	ck_assert_uint_eq(threads[THREADS - 1].interrupted, 1);
}
END_TEST

/* It lived for a tenth of the interval: a tenth of such threads is counted. */
START_TEST(a_short_lived_thread_is_counted_if_a_round_meets_it)
{
	begin(2);
	thread_count = 1;
	visit(0, 1);
	thread_count = 2;
	phase_ns = _i ? INTERVAL - 1 : 0;
	visit(1, 1);
	ck_assert_uint_eq(threads[1].interrupted, 1);
}
END_TEST

START_TEST(goes_are_a_millisecond_apart_at_least)
{
	begin(1);
	wall_start(MS / 5);
	ck_assert_uint_eq(wall_visit(START), START + MS);
}
END_TEST

START_TEST(a_thread_that_runs_is_interrupted_each_time)
{
	begin(1);
	for (unsigned i = 0; i < 3; i++) {
		visit(i, 1);
		ck_assert_uint_eq(threads[0].interrupted, i + 1);
		ck_assert_uint_eq(event_count, i);
		runs(0, 0x10 + i);
		expect_event(i, 100, 0x10 + i, JFR_STATE_RUNNABLE, 1);
		ck_assert_uint_eq(events[i].span, 0);
	}
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 3);
}
END_TEST

START_TEST(a_sleeper_is_interrupted_once_and_counted)
{
	uint64_t before, after;

	begin(1);
	visit(0, 1);
	sleeps(0, 0x20);
	visit(1, 3);
	before = clock_ticks();
	visit(4, 1);
	after = clock_ticks();
	ck_assert_uint_eq(threads[0].interrupted, 1);
	ck_assert_uint_eq(event_count, 0);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 1);
	expect_event(0, 100, 0x20, JFR_STATE_SLEEPING, 5);
	/* From its sample to the last visit. */
	ck_assert_uint_ge(events[0].span, before - 7);
	ck_assert_uint_le(events[0].span, after - 7);
}
END_TEST

/* The handler took the signal, but its sample was lost: the budget refused it, or the ring was full. */
START_TEST(a_lost_sample_is_requested_again)
{
	begin(1);
	visit(0, 1);
	sleeps(0, 0x20);
	threads[0].cpu_ns += MS;
	visit(1, 1);
	ck_assert_uint_eq(threads[0].interrupted, 2);
	threads[0].is_under_way = false;
	visit(2, 1);
	ck_assert_uint_eq(threads[0].interrupted, 3);
	runs(0, 0x30);
	expect_event(0, 100, 0x20, JFR_STATE_SLEEPING, 1);
	expect_event(1, 100, 0x30, JFR_STATE_RUNNABLE, 2);
	/* The first one was not lost, but still in the ring. */
	runs(0, 0x40);
	ck_assert_uint_eq(event_count, 2);
}
END_TEST

/* It ends before it takes the sample. */
START_TEST(visits_of_a_thread_that_ends_are_counted)
{
	begin(1);
	visit(0, 3);
	ck_assert_uint_eq(wall_end(NULL, &threads[0].slot), 3);
	ck_assert_uint_eq(wall_end(NULL, &threads[0].slot), 0);
}
END_TEST

/* It blocks the signal: of its stack, the place of each call is known. */
START_TEST(waits_without_a_sample_are_in_the_report)
{
	begin(1);
	found = (struct wait){ .state = WAIT_WAITING, .sp = 0x1000, .pc = 0x50 };
	visit(0, 2);
	found.sp = 0x2000;
	found.pc = 0x60;
	visit(2, 1);
	found = (struct wait){ .state = WAIT_RUNNABLE };
	visit(3, 1);
	wall_write_waits(NULL);
	ck_assert_uint_eq(wall_owed(), 1);
	ck_assert_uint_eq(event_count, 2);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(events[i].stack, stack_id(i ? 0x60 : 0x50, 1, true));
		ck_assert_uint_eq(events[i].samples, i ? 1 : 2);
		ck_assert_int_eq(events[i].state, JFR_STATE_SLEEPING);
	}
	wall_write_waits(NULL);
	ck_assert_uint_eq(event_count, 2);
	sleeps(0, 0x20);
	ck_assert_uint_eq(wall_owed(), 0);
}
END_TEST

/* A thread may sleep in an event-loop iteration, which checks its counter for samples. */
START_TEST(a_sleeper_that_is_counted_is_told)
{
	begin(1);
	visit(0, 1);
	sleeps(0, 0x10);
	ck_assert_uint_eq(counted, 0); /* its handler updated the counter */
	visit(1, 3);
	ck_assert_uint_eq(counted, 3);
	threads[0].cpu_ns += MS;
	visit(4, 1);
	ck_assert_uint_eq(counted, 3);
}
END_TEST

/* A thread that sleeps at the end of a chunk is counted in the next one, from its first visit there
 * on. */
START_TEST(a_sleeper_is_counted_in_each_chunk)
{
	uint64_t before;

	begin(1);
	visit(0, 1);
	sleeps(0, 0x20);
	wall_flush(NULL);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 1);
	expect_event(0, 100, 0x20, JFR_STATE_SLEEPING, 1);
	ck_assert_uint_eq(events[0].span, 0);
	before = clock_ticks();
	visit(1, 2);
	wall_flush(NULL);
	ck_assert_uint_eq(threads[0].interrupted, 1);
	ck_assert_uint_eq(event_count, 2);
	ck_assert_uint_eq(events[1].samples, 2);
	ck_assert_uint_eq(events[1].stack, events[0].stack);
	ck_assert_uint_ge(events[1].ticks, before);
	ck_assert_uint_le(events[1].span, clock_ticks() - events[1].ticks);
}
END_TEST

/* Only the CPU time to go back to sleep, at the first check, does not count as a move. */
START_TEST(cpu_time_is_a_life_sign)
{
	static const struct {
		uint64_t first_ns, second_ns; /* spent before each of the visits */
		unsigned interrupted[2];      /* at that time */
	} rows[] = {
		{ 0, 0, { 1, 1 } },     { 50000, 0, { 1, 1 } }, { 50001, 0, { 2, 2 } },
		{ 50000, 1, { 1, 2 } }, { 0, 1, { 1, 2 } },
	};

	begin(1);
	threads[0].cpu_ns = 12345;
	visit(0, 1);
	sleeps(0, 0x20);
	threads[0].cpu_ns += rows[_i].first_ns;
	visit(1, 1);
	ck_assert_uint_eq(threads[0].interrupted, rows[_i].interrupted[0]);
	threads[0].cpu_ns += rows[_i].second_ns;
	visit(2, 1);
	ck_assert_uint_eq(threads[0].interrupted, rows[_i].interrupted[1]);
}
END_TEST

START_TEST(a_sleeper_that_moves_is_written_first)
{
	begin(1);
	visit(0, 1);
	sleeps(0, 0x20);
	visit(1, 2);
	threads[0].cpu_ns += MS;
	visit(3, 1);
	ck_assert_uint_eq(threads[0].interrupted, 2);
	sleeps(0, 0x30);
	ck_assert_uint_eq(event_count, 1);
	expect_event(0, 100, 0x20, JFR_STATE_SLEEPING, 3);
	/* After a new sample, that time is allowed again. */
	threads[0].cpu_ns += 50000;
	visit(4, 1);
	ck_assert_uint_eq(threads[0].interrupted, 2);
	threads[0].cpu_ns += MS;
	visit(5, 1);
	runs(0, 0x40);
	ck_assert_uint_eq(event_count, 3);
	expect_event(1, 100, 0x30, JFR_STATE_SLEEPING, 2);
	expect_event(2, 100, 0x40, JFR_STATE_RUNNABLE, 1);
	visit(6, 1);
	ck_assert_uint_eq(threads[0].interrupted, 4);
}
END_TEST

/* The agent's thread is late: the sample stands for all visits, and the next visit is on time. */
START_TEST(visits_that_were_missed_are_counted)
{
	begin(1);
	wall_visit(START);
	runs(0, 0x10);
	ck_assert_uint_eq(wall_visit(START + 4 * INTERVAL + INTERVAL / 2), START + 5 * INTERVAL);
	ck_assert_uint_eq(threads[0].interrupted, 2);
	sleeps(0, 0x20);
	visit(7, 1);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 2);
	expect_event(1, 100, 0x20, JFR_STATE_SLEEPING, 4 + 3);
}
END_TEST

START_TEST(one_that_runs_owes_what_was_missed)
{
	begin(1);
	visit(0, 1);
	visit(3, 1);
	ck_assert_uint_eq(threads[0].interrupted, 2);
	runs(0, 0x10);
	runs(0, 0x10);
	ck_assert_uint_eq(event_count, 1);
	expect_event(0, 100, 0x10, JFR_STATE_RUNNABLE, 4);
}
END_TEST

/* It ran, and then blocked the signal: it counts at the place where it ran. */
START_TEST(a_sleeper_that_does_not_answer_is_counted)
{
	begin(1);
	visit(0, 1);
	sleeps(0, 0x20);
	threads[0].cpu_ns += MS;
	visit(1, 3);
	ck_assert_uint_eq(threads[0].interrupted, 2);
	sleeps(0, 0x30);
	expect_event(0, 100, 0x20, JFR_STATE_SLEEPING, 3);
	wall_flush(NULL);
	expect_event(1, 100, 0x30, JFR_STATE_SLEEPING, 1);
}
END_TEST

START_TEST(one_that_cannot_be_interrupted_now_is_counted_later)
{
	begin(1);
	can_interrupt = false;
	visit(0, 1);
	sleeps(0, 0x20);
	threads[0].cpu_ns += MS;
	visit(1, 2);
	can_interrupt = true;
	visit(3, 1);
	ck_assert_uint_eq(threads[0].interrupted, 4);
	runs(0, 0x30);
	ck_assert_uint_eq(event_count, 2);
	expect_event(0, 100, 0x20, JFR_STATE_SLEEPING, 1);
	expect_event(1, 100, 0x30, JFR_STATE_RUNNABLE, 3);
}
END_TEST

static void finds(enum wait_state state, enum wait_cause cause)
{
	found = (struct wait){
		.state = (uint8_t)state,
		.cause = (uint8_t)cause,
		.number = -1,
		.is_futex = cause == WAIT_LOCK,
	};
}

START_TEST(a_sleeper_is_looked_at_once)
{
	begin(1);
	finds(WAIT_WAITING, WAIT_SLEEP);
	visit(0, 1);
	sleeps(0, 0x20);
	visit(1, 3);
	ck_assert_uint_eq(looked, 1);
	wall_flush(NULL);
	visit(4, 2);
	wall_flush(NULL);
	ck_assert_uint_eq(looked, 1);
	expect_event(0, 100, 0x20, JFR_STATE_SLEEPING, 4);
	ck_assert_uint_eq(events[1].samples, 2);
	for (size_t i = 0; i < 2; i++)
		ck_assert_str_eq(events[i].wait, "state=waiting\ncause=sleep\n");
}
END_TEST

/* It has used as little CPU time as a restarted call, but waits elsewhere: in another frame, or for another object. */
START_TEST(a_sleeper_that_waits_for_something_else)
{
	begin(1);
	finds(WAIT_WAITING, WAIT_SLEEP);
	found.sp = 0x1000;
	found.first = 3;
	visit(0, 1);
	sleeps(0, 0x20);
	threads[0].cpu_ns += WALL_BACK_TO_SLEEP_NS;
	visit(1, 1);
	ck_assert_uint_eq(threads[0].interrupted, 1);
	if (_i)
		found.sp = 0x2000;
	else
		found.first = 4;
	threads[0].cpu_ns += MS;
	visit(2, 1);
	sleeps(0, 0x30);
	expect_event(0, 100, 0x20, JFR_STATE_SLEEPING, 2);
	threads[0].cpu_ns += WALL_BACK_TO_SLEEP_NS;
	found.sp += 0x10;
	visit(3, 1);
	ck_assert_uint_eq(threads[0].interrupted, 3);
	sleeps(0, 0x40);
	expect_event(1, 100, 0x30, JFR_STATE_SLEEPING, 1);
}
END_TEST

/* The signal has ended its call, which the handler makes again, or has the kernel continue. */
static const struct {
	long number;
	uintptr_t first;
	unsigned interrupted; /* at each visit if the call is not the noted one */
} continued_calls[] = {
	{ SYS_pselect6, 3, 1 },
	{ SYS_restart_syscall, 0, 1 },
	{ SYS_pselect6, 4, 3 },
};

START_TEST(a_call_that_the_handler_continues)
{
	const struct thread_call noted = {
		.number = SYS_pselect6, .arguments = { 3 }, .sp = 0x1000, .pc = 0x20
	};

	begin(1);
	finds(WAIT_WAITING, WAIT_SLEEP);
	found.sp = noted.sp;
	found.pc = noted.pc;
	found.first = noted.arguments[0];
	visit(0, 1);
	thread_call_write(&threads[0].slot.call, &noted);
	sleeps(0, 0x20);
	threads[0].cpu_ns += WALL_BACK_TO_SLEEP_NS;
	shared->preload.code = 0x5000;
	shared->preload.code_bytes = 0x100;
	found.number = continued_calls[_i].number;
	found.first = continued_calls[_i].first;
	found.sp = 0x900;
	found.pc = 0x5010;
	visit(1, 2);
	ck_assert_uint_eq(threads[0].interrupted, continued_calls[_i].interrupted);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 1);
	expect_event(0, 100, 0x20, JFR_STATE_SLEEPING,
		     continued_calls[_i].interrupted == 1 ? 3 : 1);
}
END_TEST

START_TEST(a_sleeper_that_is_woken_and_has_no_processor)
{
	begin(1);
	finds(WAIT_WAITING, WAIT_SLEEP);
	visit(0, 1);
	sleeps(0, 0x20);
	visit(1, 2);
	is_over = true;
	visit(3, 2);
	ck_assert_uint_eq(threads[0].interrupted, 1);
	wall_flush(NULL);
	expect_event(2, 100, 0x20, JFR_STATE_SLEEPING, 3);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_str_eq(events[i].wait, "state=runnable\n");
		ck_assert_uint_eq(events[i].stack, events[2].stack);
	}
	ck_assert_uint_eq(event_count, 3);
}
END_TEST

/* The signal arrives when the thread leaves the call. */
START_TEST(an_event_loops_wait_that_has_just_ended)
{
	begin(1);
	finds(WAIT_WAITING, WAIT_IDLE);
	found.has_timeout = true;
	found.pc = 0x30;
	visit(0, 2);
	end_now = READY_WAIT_READY;
	runs(0, 0x30);
	visit(2, 1);
	end_now = READY_WAIT_TIMED_OUT;
	runs(0, 0x30);
	expect_event(0, 100, 0x30, JFR_STATE_SLEEPING, 2);
	ck_assert_str_eq(events[0].wait, "state=waiting\ncause=idle\n");
	ck_assert_str_eq(events[1].wait, "state=waiting\ncause=timer\n");
}
END_TEST

/* The signal arrives when the thread leaves a later call, which tells nothing about the event loop's wait. */
START_TEST(a_call_after_an_event_loops_wait)
{
	begin(1);
	finds(WAIT_WAITING, WAIT_IDLE);
	found.has_timeout = true;
	found.pc = 0x30;
	visit(0, 1);
	end_now = READY_WAIT_READY;
	runs(0, 0x30);
	visit(1, 2);
	end_now = READY_WAIT_TIMED_OUT;
	runs(0, 0x40);
	expect_event(1, 100, 0x40, JFR_STATE_SLEEPING, 2);
	ck_assert_str_eq(events[1].wait, "state=waiting\ncause=idle\n");
}
END_TEST

/* The sample before interrupted a wait for something else. */
START_TEST(the_end_of_another_wait_is_not_that_of_an_event_loops)
{
	begin(1);
	finds(WAIT_WAITING, WAIT_IDLE);
	found.has_timeout = true;
	found.pc = 0x30;
	visit(0, 1);
	end_now = READY_WAIT_READY;
	runs(0, 0x30);
	finds(WAIT_WAITING, WAIT_LOCK);
	end_now = READY_WAIT_UNKNOWN;
	visit(1, 1);
	sleeps(0, 0x50);
	finds(WAIT_WAITING, WAIT_IDLE);
	found.has_timeout = true;
	threads[0].cpu_ns += MS;
	visit(2, 1);
	end_before = READY_WAIT_TIMED_OUT;
	runs(0, 0x40);
	ck_assert_str_eq(events[event_count - 1].wait, "state=waiting\ncause=idle\n");
}
END_TEST

/* The result of a wait at a ring is the number of submitted requests. */
START_TEST(a_wait_at_a_ring_that_has_just_ended)
{
	begin(1);
	finds(WAIT_WAITING, WAIT_IDLE);
	found.number = SYS_io_uring_enter;
	found.pc = 0x30;
	visit(0, 1);
	end_now = READY_WAIT_TIMED_OUT;
	runs(0, 0x30);
	ck_assert_ptr_nonnull(strstr(events[0].wait, "cause=idle\n"));
}
END_TEST

/* The next sample of the thread has the end of the event loop's wait. Until then its timeout decides. */
static const struct {
	bool has_timeout;
	enum ready_wait_end end;
	const char *cause;
} loop_waits[] = {
	{ false, READY_WAIT_UNKNOWN, "idle" }, { true, READY_WAIT_UNKNOWN, "timer" },
	{ true, READY_WAIT_READY, "idle" },    { true, READY_WAIT_TIMED_OUT, "timer" },
	{ false, READY_WAIT_READY, "idle" },
};

START_TEST(the_end_of_an_event_loops_wait)
{
	char wanted[64];

	begin(1);
	finds(WAIT_WAITING, WAIT_IDLE);
	found.has_timeout = loop_waits[_i].has_timeout;
	visit(0, 1);
	sleeps(0, 0x20);
	visit(1, 2);
	threads[0].cpu_ns += MS;
	visit(3, 1);
	end_before = loop_waits[_i].end;
	sleeps(0, 0x30);
	snprintf(wanted, sizeof(wanted), "state=waiting\ncause=%s\n", loop_waits[_i].cause);
	expect_event(0, 100, 0x20, JFR_STATE_SLEEPING, 3);
	ck_assert_str_eq(events[0].wait, wanted);
}
END_TEST

/* At the end of a chunk the thread still waits: its last wait decides. */
START_TEST(an_event_loops_wait_that_goes_on)
{
	begin(1);
	finds(WAIT_WAITING, WAIT_IDLE);
	found.has_timeout = true;
	visit(0, 1);
	sleeps(0, 0x20);
	threads[0].cpu_ns += MS;
	visit(1, 1);
	end_before = READY_WAIT_READY;
	sleeps(0, 0x20);
	visit(2, 2);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 2);
	ck_assert_str_eq(events[1].wait, "state=waiting\ncause=idle\n");
}
END_TEST

/* The visit found it running, and its signal found it asleep. */
START_TEST(a_thread_that_has_just_gone_to_sleep)
{
	begin(1);
	finds(WAIT_RUNNING, WAIT_NO_CAUSE);
	visit(0, 1);
	sleeps(0, 0x20);
	expect_event(0, 100, 0x20, JFR_STATE_RUNNABLE, 1);
	ck_assert_str_eq(events[0].wait, "state=running\n");
	finds(WAIT_WAITING, WAIT_LOCK);
	visit(1, 2);
	ck_assert_uint_eq(threads[0].interrupted, 1);
	ck_assert_uint_eq(looked, 2);
	wall_flush(NULL);
	ck_assert_uint_eq(events[1].samples, 2);
	ck_assert_str_eq(events[1].wait, "state=waiting\ncause=condition\n"); /* by its stack */
}
END_TEST

/* It waits in 0x20, whose callers are on a stack. */
static void learns_place(uintptr_t *stack)
{
	begin(1);
	finds(WAIT_WAITING, WAIT_SLEEP);
	stack[1] = 0x21;
	stack[3] = 0x22;
	found.sp = (uintptr_t)stack;
	found.pc = 0x20;
	visit(0, 1);
	sleeps(0, 0x20);
}

START_TEST(a_thread_that_waits_in_the_same_stack_again_is_not_interrupted)
{
	uintptr_t stack[4] = { 0 };

	learns_place(stack);
	for (unsigned i = 1; i < 4; i++) {
		threads[0].cpu_ns += MS;
		visit(i, 1);
	}
	ck_assert_uint_eq(threads[0].interrupted, 1);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 4);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(events[i].stack, stack_id(0x20, 3, false));
		ck_assert_uint_eq(events[i].samples, 1);
		ck_assert_str_eq(events[i].wait, "state=waiting\ncause=sleep\n");
	}
	/* It has not run since. */
	visit(4, 1);
	ck_assert_uint_eq(looked, 4);
}
END_TEST

START_TEST(a_thread_with_another_caller_is_interrupted)
{
	uintptr_t stack[4] = { 0 };

	learns_place(stack);
	threads[0].cpu_ns += MS;
	stack[3] = 0x23;
	visit(1, 1);
	ck_assert_uint_eq(threads[0].interrupted, 2);
}
END_TEST

/* Only the thread itself can read its labels. */
START_TEST(a_thread_that_may_have_labels_is_interrupted)
{
	uintptr_t stack[4] = { 0 };

	learns_place(stack);
	ck_assert_int_eq(thread_labels_set("key", "value"), 0);
	threads[0].cpu_ns += MS;
	visit(1, 1);
	ck_assert_uint_eq(threads[0].interrupted, 2);
}
END_TEST

/* Its signal arrives after the wait, as after one that nothing interrupts. */
START_TEST(each_visit_counts_in_its_state)
{
	begin(1);
	finds(WAIT_WAITING, WAIT_FILE);
	visit(0, 2);
	finds(WAIT_RUNNABLE, WAIT_NO_CAUSE);
	visit(2, 1);
	runs(0, 0x30);
	ck_assert_uint_eq(event_count, 2);
	expect_event(0, 100, 0x30, JFR_STATE_RUNNABLE, 1);
	expect_event(1, 100, 0x30, JFR_STATE_SLEEPING, 2);
	ck_assert_str_eq(events[0].wait, "state=runnable\n");
	ck_assert_str_eq(events[1].wait, "state=waiting\ncause=file\n");
	/* The next sample starts from none. */
	visit(3, 1);
	runs(0, 0x40);
	ck_assert_uint_eq(event_count, 3);
	ck_assert_uint_eq(events[2].samples, 1);
}
END_TEST

/* The handler's budget has delayed its sample, and it waited for other things meanwhile. */
START_TEST(each_visit_counts_with_its_cause)
{
	static const struct {
		enum wait_cause cause;
		uintptr_t sp;
		unsigned visits;
	} found_waits[] = { { WAIT_SLEEP, 0x10, 2 },
			    { WAIT_FILE, 0x20, 1 },
			    { WAIT_SLEEP, 0x10, 1 },
			    { WAIT_PIPE_READ, 0x30, 1 } };
	unsigned at = 0;

	begin(1);
	for (size_t i = 0; i < sizeof(found_waits) / sizeof(found_waits[0]); i++) {
		finds(WAIT_WAITING, found_waits[i].cause);
		found.sp = found_waits[i].sp;
		visit(at, found_waits[i].visits);
		at += found_waits[i].visits;
	}
	runs(0, 0x30);
	ck_assert_uint_eq(event_count, 3);
	expect_event(0, 100, 0x30, JFR_STATE_SLEEPING, 3);
	expect_event(1, 100, 0x30, JFR_STATE_SLEEPING, 1);
	expect_event(2, 100, 0x30, JFR_STATE_SLEEPING, 1);
	ck_assert_str_eq(events[0].wait, "state=waiting\ncause=sleep\n");
	ck_assert_str_eq(events[1].wait, "state=waiting\ncause=file\n");
	ck_assert_str_eq(events[2].wait, "state=waiting\ncause=pipe-read\n");
}
END_TEST

/* The visits at the known place, to which it returned meanwhile, have its stack. */
START_TEST(visits_at_the_known_place_count_there)
{
	begin(1);
	finds(WAIT_WAITING, WAIT_SLEEP);
	found.sp = 0x10;
	visit(0, 1);
	sleeps(0, 0x20);
	threads[0].cpu_ns += MS;
	finds(WAIT_WAITING, WAIT_FILE);
	found.sp = 0x30;
	visit(1, 1);
	finds(WAIT_WAITING, WAIT_SLEEP);
	found.sp = 0x10;
	visit(2, 2);
	finds(WAIT_WAITING, WAIT_FILE);
	found.sp = 0x30;
	visit(4, 1);
	runs(0, 0x40);
	ck_assert_uint_eq(event_count, 3);
	expect_event(0, 100, 0x20, JFR_STATE_SLEEPING, 3);
	ck_assert_str_eq(events[0].wait, "state=waiting\ncause=sleep\n");
	for (size_t i = 1; i < 3; i++) {
		expect_event(i, 100, 0x40, JFR_STATE_SLEEPING, 1);
		ck_assert_str_eq(events[i].wait, "state=waiting\ncause=file\n");
	}
}
END_TEST

static void finds_owner(pid_t owner)
{
	finds(WAIT_WAITING, WAIT_LOCK);
	found.owner = owner;
	found.owner_kinds = 1;
}

START_TEST(the_owner_is_interrupted_after_the_waiter)
{
	begin(2);
	wall_state(&threads[1].slot)->due_ns = UINT64_MAX; /* not visited for itself */
	finds_owner(101);
	visit(0, 1);
	ck_assert_uint_eq(threads[1].interrupted, 1);
	sleeps(1, 0x50);
	sleeps(0, 0x30);
	/* The owner has not run. */
	visit(1, 2);
	ck_assert_uint_eq(threads[1].interrupted, 1);
	ck_assert_uint_eq(event_count, 0);
	/* It has. */
	threads[1].cpu_ns += MS;
	visit(3, 1);
	ck_assert_uint_eq(threads[1].interrupted, 2);
	expect_event(0, 100, 0x30, JFR_STATE_SLEEPING, 3);
	ck_assert_uint_eq(events[0].owner_stack, stack_id(0x50, 3, false));
	ck_assert_ptr_nonnull(strstr(events[0].wait, "owner=101\n"));
	/* The lock is free, and its waiter is not awake yet. */
	found.owner = 0;
	visit(4, 1);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 3);
	ck_assert_uint_eq(events[1].samples, 1);
	ck_assert_uint_eq(events[1].owner_stack, 0); /* not arrived yet */
	ck_assert_ptr_null(strstr(events[2].wait, "owner"));
	ck_assert_uint_eq(threads[0].interrupted, 1);
}
END_TEST

/* The owner of a read-write lock has no processor yet when its reader begins to wait. */
START_TEST(a_lock_that_is_handed_over)
{
	begin(2);
	wall_state(&threads[1].slot)->due_ns = UINT64_MAX;
	finds_owner(0);
	found.is_handed_over = true;
	visit(0, 1);
	sleeps(0, 0x30);
	visit(1, 2);
	found.is_handed_over = false;
	found.owner = 101;
	visit(3, 1);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 1);
	expect_event(0, 100, 0x30, JFR_STATE_SLEEPING, 4);
	ck_assert_ptr_nonnull(strstr(events[0].wait, "owner=101\n"));
}
END_TEST

/* The signal wakes the owner: a later look would find it runnable. */
START_TEST(the_owner_is_visited_before_its_signal)
{
	begin(2);
	wall_state(&threads[0].slot)->due_ns = wall_state(&threads[1].slot)->due_ns = START;
	finds_owner(101);
	visit(0, 1);
	ck_assert_uint_eq(looked, 2);
	ck_assert_uint_eq(looked_late, 0);
}
END_TEST

START_TEST(an_owner_at_its_known_place_gets_no_signal)
{
	begin(2);
	visit(0, 1);
	sleeps(0, 0x30);
	sleeps(1, 0x50);
	finds_owner(101);
	visit(1, 2);
	ck_assert_uint_eq(threads[1].interrupted, 1);
	wall_flush(NULL);
	ck_assert_uint_eq(events[event_count - 2].owner_stack, stack_id(0x50, 3, false));
	ck_assert_ptr_nonnull(strstr(events[event_count - 2].wait, "owner=101\n"));
}
END_TEST

/* Its file is not open, so only the lock shows that it may be awake. */
START_TEST(a_waiter_that_the_owner_has_woken)
{
	begin(2);
	wall_state(&threads[1].slot)->due_ns = UINT64_MAX;
	finds_owner(101);
	visit(0, 1);
	sleeps(0, 0x30);
	has_ended = true;
	visit(1, 1);
	found.owner = 0;
	visit(2, 2);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 3);
	for (size_t i = 0; i < 2; i++)
		ck_assert_str_eq(events[i].wait, "state=runnable\n");
	expect_event(2, 100, 0x30, JFR_STATE_SLEEPING, 2);
	ck_assert_ptr_nonnull(strstr(events[2].wait, "owner=101\n"));
	ck_assert_uint_eq(threads[0].interrupted, 1);
}
END_TEST

/* The stack shows that the waiter waits for a condition. */
START_TEST(a_wrong_owner_is_removed)
{
	begin(2);
	wall_state(&threads[1].slot)->due_ns = UINT64_MAX;
	finds_owner(101);
	visit(0, 1);
	sleeps(0, 0x20);
	sleeps(1, 0x50);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 1);
	ck_assert_str_eq(events[0].wait, "state=waiting\ncause=condition\n");
	ck_assert_uint_eq(events[0].owner_stack, 0);
}
END_TEST

START_TEST(owners_are_interrupted_at_most_so_often)
{
	struct wall_owner *owner;
	unsigned allowed = 0;

	begin(2);
	for (unsigned i = 0; i < 2 * WALL_OWNERS_PER_SECOND; i++) {
		owner = wall_owner_request(101, 3000000000u);
		allowed += owner != NULL;
		wall_owner_free(owner);
	}
	ck_assert_uint_eq(allowed, WALL_OWNERS_PER_SECOND);
	owner = wall_owner_request(101, 4000000000u);
	ck_assert_ptr_nonnull(owner);
	wall_owner_free(owner);
	ck_assert_ptr_null(wall_owner_request(999, 4000000000u)); /* no such thread */
}
END_TEST

START_TEST(an_owners_stack_waits_for_memory)
{
	struct wall_owner *owner;
	struct sample sample = { .tid = 101, .ticks = 7 };

	begin(2);
	owner = wall_owner_request(101, 5000000000u);
	ck_assert_ptr_nonnull(owner);
	no_memory_from(1, false);
	wall_owner_deliver(&threads[1].slot, &sample);
	no_memory_end();
	ck_assert_uint_eq(owner->ticks, 0);
	wall_owner_deliver(&threads[1].slot, &sample);
	ck_assert_uint_eq(owner->ticks, 7);
	wall_owner_free(owner);
}
END_TEST

/* Nested visits are bounded. A signal comes before the look only where a chain is cut. */
START_TEST(a_chain_of_owners_is_visited_in_parts)
{
	begin(THREADS);
	for (size_t i = 0; i < THREADS; i++)
		wall_state(&threads[i].slot)->due_ns = START;
	finds_owner(101);
	is_chain = true;
	visit(0, 1);
	ck_assert_uint_eq(looked, THREADS);
	ck_assert_uint_eq(looked_late, 2);
}
END_TEST

START_TEST(each_thread_by_itself)
{
	begin(2);
	visit(0, 1);
	sleeps(0, 0x20);
	runs(1, 0x30);
	visit(1, 1);
	ck_assert_uint_eq(threads[0].interrupted, 1);
	ck_assert_uint_eq(threads[1].interrupted, 2);
	sleeps(1, 0x40);
	visit(2, 1);
	ck_assert_uint_eq(threads[0].interrupted, 1);
	ck_assert_uint_eq(threads[1].interrupted, 2);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 3);
	expect_event(0, 101, 0x30, JFR_STATE_RUNNABLE, 1);
	expect_event(1, 100, 0x20, JFR_STATE_SLEEPING, 3);
	expect_event(2, 101, 0x40, JFR_STATE_SLEEPING, 2);
}
END_TEST

START_TEST(a_thread_that_is_gone_is_not_counted_any_more)
{
	begin(1);
	visit(0, 1);
	sleeps(0, 0x20);
	visit(1, 1);
	atomic_store(&threads[0].slot.ended, true);
	visit(2, 1);
	wall_end(NULL, &threads[0].slot);
	ck_assert_uint_eq(event_count, 1);
	expect_event(0, 100, 0x20, JFR_STATE_SLEEPING, 2);
	/* The next thread in its slot starts without a state. */
	atomic_store(&threads[0].slot.ended, false);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 1);
	visit(3, 1);
	ck_assert_uint_eq(threads[0].interrupted, 2);
}
END_TEST

/* Its last sample is read when its slot already belongs to another thread. */
START_TEST(a_sample_of_a_thread_that_is_gone)
{
	begin(1);
	visit(0, 1);
	sleeps(0, 0x20);
	answer(0, JFR_STATE_SLEEPING, 0x30, 3, 99);
	ck_assert_uint_eq(event_count, 1);
	expect_event(0, 99, 0x30, JFR_STATE_SLEEPING, 1);
	visit(1, 1);
	wall_flush(NULL);
	expect_event(1, 100, 0x20, JFR_STATE_SLEEPING, 2);
}
END_TEST

START_TEST(a_stack_of_nothing)
{
	begin(1);
	visit(0, 1);
	sleeps(0, 0x20);
	answer(0, JFR_STATE_SLEEPING, 0, 0, 100);
	visit(1, 1);
	wall_flush(NULL);
	ck_assert_uint_eq(threads[0].interrupted, 1);
	ck_assert_uint_eq(event_count, 2);
	ck_assert_uint_eq(events[1].stack, stack_id(0, 0, false));
	ck_assert_uint_eq(events[1].samples, 1);
}
END_TEST

START_TEST(a_stack_that_was_cut)
{
	begin(1);
	cut = true;
	visit(0, 1);
	sleeps(0, 0x20);
	cut = false;
	visit(1, 1);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 1);
	ck_assert_uint_eq(events[0].stack, stack_id(0x20, 3, true));
}
END_TEST

/* Before the next regular visit; and no counted sample is left. */
START_TEST(stopped_and_started_again)
{
	begin(1);
	visit(0, 1);
	sleeps(0, 0x20);
	visit(1, 1);
	wall_stop();
	ck_assert_ptr_null(wall_state(&threads[0].slot)->pcs);
	wall_start(INTERVAL);
	wall_visit(START + INTERVAL + 1);
	ck_assert_uint_eq(threads[0].interrupted, 2);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 0);
	sleeps(0, 0x30);
	wall_flush(NULL);
	ck_assert_uint_eq(event_count, 1);
	expect_event(0, 100, 0x30, JFR_STATE_SLEEPING, 1);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, off);
	tcase_add_test(tests, first_visit_is_anywhere_in_the_interval);
	tcase_add_test(tests, the_next_visit_changes_with_the_interval);
	tcase_add_test(tests, owed_visits_change_with_the_interval);
	tcase_add_test(tests, nothing_to_do_before_the_next_visit);
	tcase_add_test(tests, no_thread);
	tcase_add_test(tests, few_threads_are_visited_in_one_round);
	tcase_add_test(tests, many_threads_are_visited_in_several_rounds);
	tcase_add_loop_test(tests, a_short_lived_thread_is_counted_if_a_round_meets_it, 0, 2);
	tcase_add_test(tests, goes_are_a_millisecond_apart_at_least);
	tcase_add_test(tests, a_thread_that_runs_is_interrupted_each_time);
	tcase_add_test(tests, a_sleeper_is_interrupted_once_and_counted);
	tcase_add_test(tests, a_lost_sample_is_requested_again);
	tcase_add_test(tests, visits_of_a_thread_that_ends_are_counted);
	tcase_add_test(tests, waits_without_a_sample_are_in_the_report);
	tcase_add_test(tests, a_sleeper_that_is_counted_is_told);
	tcase_add_test(tests, a_sleeper_is_counted_in_each_chunk);
	tcase_add_loop_test(tests, cpu_time_is_a_life_sign, 0, 5);
	tcase_add_test(tests, a_sleeper_that_moves_is_written_first);
	tcase_add_test(tests, visits_that_were_missed_are_counted);
	tcase_add_test(tests, one_that_runs_owes_what_was_missed);
	tcase_add_test(tests, a_sleeper_that_does_not_answer_is_counted);
	tcase_add_test(tests, one_that_cannot_be_interrupted_now_is_counted_later);
	tcase_add_test(tests, a_sleeper_is_looked_at_once);
	tcase_add_test(tests, a_thread_that_has_just_gone_to_sleep);
	tcase_add_test(tests, a_thread_that_waits_in_the_same_stack_again_is_not_interrupted);
	tcase_add_test(tests, a_thread_with_another_caller_is_interrupted);
	tcase_add_test(tests, a_thread_that_may_have_labels_is_interrupted);
	tcase_add_test(tests, each_visit_counts_in_its_state);
	tcase_add_test(tests, each_visit_counts_with_its_cause);
	tcase_add_test(tests, visits_at_the_known_place_count_there);
	tcase_add_test(tests, the_owner_is_interrupted_after_the_waiter);
	tcase_add_test(tests, a_lock_that_is_handed_over);
	tcase_add_test(tests, the_owner_is_visited_before_its_signal);
	tcase_add_test(tests, an_owner_at_its_known_place_gets_no_signal);
	tcase_add_test(tests, a_waiter_that_the_owner_has_woken);
	tcase_add_test(tests, a_wrong_owner_is_removed);
	tcase_add_test(tests, owners_are_interrupted_at_most_so_often);
	tcase_add_test(tests, an_owners_stack_waits_for_memory);
	tcase_add_test(tests, off_for_a_while);
	tcase_add_loop_test(tests, a_sleeper_that_waits_for_something_else, 0, 2);
	tcase_add_loop_test(tests, a_call_that_the_handler_continues, 0,
			    sizeof(continued_calls) / sizeof(continued_calls[0]));
	tcase_add_test(tests, a_sleeper_that_is_woken_and_has_no_processor);
	tcase_add_test(tests, an_event_loops_wait_that_has_just_ended);
	tcase_add_test(tests, a_call_after_an_event_loops_wait);
	tcase_add_test(tests, the_end_of_another_wait_is_not_that_of_an_event_loops);
	tcase_add_test(tests, a_wait_at_a_ring_that_has_just_ended);
	tcase_add_test(tests, an_event_loops_wait_that_goes_on);
	tcase_add_loop_test(tests, the_end_of_an_event_loops_wait, 0,
			    sizeof(loop_waits) / sizeof(loop_waits[0]));
	tcase_add_test(tests, a_chain_of_owners_is_visited_in_parts);
	tcase_add_test(tests, each_thread_by_itself);
	tcase_add_test(tests, a_thread_that_is_gone_is_not_counted_any_more);
	tcase_add_test(tests, a_sample_of_a_thread_that_is_gone);
	tcase_add_test(tests, a_stack_of_nothing);
	tcase_add_test(tests, a_stack_that_was_cut);
	tcase_add_test(tests, stopped_and_started_again);
	return suite_run(tests);
}
