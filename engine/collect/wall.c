/* Wall-clock sampling: counts every thread once per interval, and interrupts a sleeping thread only
 * once.
 *
 * A thread that has used no CPU time since its last sample is still in the same place. So a
 * sleeping thread is interrupted once, and then only counted. When it moves, or when the chunk
 * ends, the counted samples become one event with their number. */
#include "engine/collect/wall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/clock.h"
#include "core/cost.h"
#include "core/random.h"
#include "engine/collect/program_stack.h"
#include "engine/collect/sample_context.h"
#include "engine/collect/thread_mask.h"
#include "engine/collect/tick_rate.h"
#include "engine/collect/wall_interrupt.h"
#include "engine/context/thread_context.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/runtimes.h"
#include "engine/sample/ready_wait.h"
#include "engine/wait/fuse_call.h"
#include "engine/wait/wait_lines.h"
#include "engine/wait/wait_owner.h"
#include "engine/wait/wait_stack.h"

/* Visits are made in rounds, because each wakes the agent's thread. An interval has one round for so many threads. */
#define ROUND_THREADS 16
#define ROUNDS_MAX    20
#define ROUND_MIN_NS  1000000u

#define SLOTS_MIN 64

/* Owners of locks that wait for a lock in turn are visited to this depth: the agent's thread has a small stack. */
#define OWNERS_DEPTH_MAX 16

static struct {
	uint64_t interval_ns;
	uint64_t first_ns, last_ns, next_ns; /* rounds; first 0: not chosen yet */
	uint64_t now_ns;                     /* time of the current round */
	unsigned owners_depth;
	size_t visited;              /* threads in the last round, due or not */
	struct thread_wall *threads; /* by the index of their slots */
	size_t room;
	struct jfr_writer *jfr; /* of the events that a visit writes */
	struct symbols *symbols;
} wall = { .interval_ns = UINT64_MAX };

struct thread_wall *wall_state(const struct thread *t)
{
	size_t room = wall.room ? wall.room : SLOTS_MIN;
	struct thread_wall *larger;

	if (t->index < wall.room)
		return &wall.threads[t->index];
	while (room <= t->index)
		room *= 2;
	larger = realloc(wall.threads, room * sizeof(*larger));
	if (!larger)
		return NULL;
	memset(larger + wall.room, 0, (room - wall.room) * sizeof(*larger));
	wall.threads = larger;
	wall.room = room;
	return &larger[t->index];
}

uint64_t wall_queue_ns(const struct thread *t)
{
	const struct thread_wall *w = wall_state(t);

	return w ? w->seen.queue_ns : 0;
}

void wall_start(uint64_t interval_ns)
{
	wall.interval_ns = interval_ns;
	wall.next_ns = 0;
}

static uint64_t wall_round_ns(void)
{
	size_t rounds = 1 + wall.visited / ROUND_THREADS;
	uint64_t round_ns = wall.interval_ns / (rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX);

	return round_ns > ROUND_MIN_NS ? round_ns : ROUND_MIN_NS;
}

void wall_open(struct jfr_writer *jfr, struct symbols *symbols)
{
	wall.jfr = jfr;
	wall.symbols = symbols;
}

/* Change a NUMBER of visits to that of the new interval, FACTOR times as long, for the same time. The rest is rounded at
 * random: many small numbers keep their sum. */
static uint32_t visits_scale(uint32_t number, double factor)
{
	double scaled = number / factor;
	uint32_t whole = scaled < UINT32_MAX ? (uint32_t)scaled : UINT32_MAX - 1;

	if (!number)
		return 0;
	return whole + (random_below(1000) < (uint64_t)((scaled - whole) * 1000));
}

/* Events that are written from now on are read with the new interval. */
static void wall_scale_visits(struct thread_wall *w, double factor)
{
	w->samples = visits_scale(w->samples, factor);
	for (size_t i = 0; i < WAIT_STATES; i++)
		w->owed[i] = visits_scale(w->owed[i], factor);
	for (size_t i = 0; i < WALL_EARLIER_MAX; i++)
		w->earlier[i].visits = visits_scale(w->earlier[i].visits, factor);
}

void wall_change(uint64_t interval_ns, uint64_t now_ns)
{
	bool is_finite = wall.interval_ns != UINT64_MAX && interval_ns != UINT64_MAX;
	double factor = (double)interval_ns / (double)wall.interval_ns;

	for (size_t i = 0; i < wall.room; i++) {
		struct thread_wall *w = &wall.threads[i];

		if (!is_finite) {
			w->due_ns = 0;
			continue;
		}
		wall_scale_visits(w, factor);
		if (w->due_ns > now_ns)
			w->due_ns = now_ns + (uint64_t)((double)(w->due_ns - now_ns) * factor);
	}
	wall_start(interval_ns);
}

static void wall_state_clear(struct thread_wall *w)
{
	free(w->pcs);
	wait_clear(&w->wait);
	wait_clear(&w->asked_wait);
	for (size_t i = 0; i < WALL_EARLIER_MAX; i++)
		wait_clear(&w->earlier[i].wait);
	wait_seen_clear(&w->seen);
	wall_place_clear(&w->place);
	wall_place_clear(&w->asked_place);
	wall_owner_free(w->owner);
	wall_owner_free(w->asked_owner);
	*w = (struct thread_wall){ 0 };
}

void wall_stop(void)
{
	wall.interval_ns = UINT64_MAX;
	for (size_t i = 0; i < wall.room; i++)
		wall_state_clear(&wall.threads[i]);
	free(wall.threads);
	wall.threads = NULL;
	wall.room = wall.visited = 0;
	wall.first_ns = 0;
}

static void wall_count(struct thread_wall *w, uint32_t samples, uint64_t ticks)
{
	if (!w->samples)
		w->first = ticks;
	w->samples += samples;
	w->last = ticks;
}

/* Also update the thread's own sample counter: it may sleep within an iteration of an event
 * loop. */
static void wall_count_sleeper(struct thread *t, struct thread_wall *w, uint32_t samples)
{
	uint64_t ticks = clock_ticks();

	wall_count(w, samples, ticks);
	threads_counted(t, ticks);
}

/* True while the thread has not taken the requested signal, so it is still where it was. A sample may also be lost after
 * the signal, for example when the ring is full. */
static bool wall_is_asked(const struct thread *t, const struct thread_wall *w)
{
	return w->asked && thread_clock_is_under_way(&t->clock);
}

static void wall_look(struct thread *t, struct wait *wait, uint64_t cpu_ns, struct wait_seen *seen)
{
	wait_look(wait, atomic_load(&t->tid), cpu_ns, seen);
	wall_set_continued_call(t, wait);
}

/* True if T, which has used a little CPU time since its sample, still waits at its known place. A thread that waits for one
 * thing after the other may use as little in between. */
static bool wall_is_back_asleep(struct thread *t, struct thread_wall *w, uint64_t cpu_ns)
{
	struct wait now = { 0 };
	bool is_same;

	if (w->wait.state != WAIT_WAITING)
		return true;
	wall_look(t, &now, cpu_ns, &w->seen);
	is_same = wait_is_same_place(&now, &w->wait);
	wait_clear(&now);
	return is_same;
}

/* Some CPU time is allowed at the first check after each sample. Later checks count every nanosecond as a move. */
static bool wall_is_asleep(struct thread *t, struct thread_wall *w, uint64_t cpu_ns)
{
	bool asleep = cpu_ns == w->cpu_ns ||
		      (!w->settled && cpu_ns - w->cpu_ns <= WALL_BACK_TO_SLEEP_NS &&
		       wall_is_back_asleep(t, w, cpu_ns));

	if (asleep) {
		w->cpu_ns = cpu_ns;
		w->settled = true;
	}
	return asleep;
}

static const struct context_record *wall_context(const struct thread_wall *w)
{
	return w->context ? (const struct context_record *)(w->pcs + w->depth) : NULL;
}

/* Set the wait of the next event to WAIT, and the stack of its lock's owner to that of OWNER, which
 * may be NULL. */
static void wall_use_wait(struct jfr_writer *jfr, const struct wait *wait,
			  const struct wall_owner *owner)
{
	char lines[WAIT_LINES_MAX];
	struct jfr_wait use = { 0 };
	size_t length = wait_lines(wait, lines);

	if (!length)
		return;
	use.description = jfr_wait_description(jfr, lines, length);
	if (owner && owner->ticks) {
		use.owner_stack = program_stack(jfr, owner->pcs, owner->depth, owner->truncated);
		use.owner_delay_ns = tick_rate_ns(owner->ticks - owner->asked_ticks);
	}
	jfr_use_wait(jfr, &use);
}

static void wall_write_event(struct jfr_writer *jfr, struct thread *t)
{
	struct thread_wall *w = wall_state(t);
	uint32_t stack;

	if (!w || !w->samples || !w->known)
		return;
	if (!w->wait.end)
		w->wait.end = w->loop_end;
	stack = program_stack(jfr, w->pcs, w->depth, w->truncated);
	jfr_use_context(jfr, sample_context_id(jfr, wall_context(w)));
	wall_use_wait(jfr, &w->wait, w->owner);
	jfr_wall_sample(jfr, w->first, t->tid, stack, JFR_STATE_SLEEPING, w->samples,
			w->last - w->first);
	w->samples = 0;
}

/* Set the owner of the lock in WAIT, of thread T, as it is now. */
static void wall_find_owner(struct wait *wait, const struct thread *t)
{
	if (!wait->is_futex)
		return;
	if (runtimes_lock_at(wait->lock, &wait->owner))
		wait->cause = WAIT_GIL;
	else
		wait_find_owner(wait, atomic_load(&t->tid));
	if (wait->owner == atomic_load(&t->tid)) /* it has the lock now */
		wait->owner = 0;
}

/* Look once at a thread that sleeps: it waits for the same as long as it does not run. */
static void wall_look_at_sleeper(struct thread *t, struct thread_wall *w)
{
	if (w->wait.state != WAIT_UNKNOWN)
		return;
	wall_look(t, &w->wait, w->cpu_ns, &w->seen);
	if (w->wait.state != WAIT_WAITING)
		wait_clear(&w->wait);
	wall_find_owner(&w->wait, t);
	wait_set_cause_by_stack(&w->wait, wall.symbols, w->pcs, w->depth);
}

static void wall_visit_if_due(struct thread *t, struct thread_wall *w);

/* Returns NULL if no owner is known, or its stack is not requested. The owner is visited first: a signal may wake it, and
 * its own sample would show that. If it sleeps at its known place, no signal is sent. */
static struct wall_owner *wall_request_owner(const struct wait *wait)
{
	struct thread *t = wait->owner ? thread_slot_find(wait->owner) : NULL;
	struct thread_wall *w;

	if (!t)
		return NULL;
	/* Not wall_state(): it may move the waiter's state. */
	w = t->index < wall.room ? &wall.threads[t->index] : NULL;
	if (w && wall.owners_depth < OWNERS_DEPTH_MAX) {
		wall.owners_depth++;
		wall_visit_if_due(t, w);
		wall.owners_depth--;
	}
	if (w && w->known && !wall_is_asked(t, w) && thread_clock_cpu(&t->clock) == w->cpu_ns)
		return wall_owner_known(t, w->pcs, w->depth, w->truncated);
	return wall_owner_request(wait->owner, clock_monotonic_ns());
}

/* The lock that sleeping T waits for may have another owner now, or the owner may have run. Then the
 * samples so far are an event of their own, unless the lock was handed over to that owner. Returns false if the owner has released the lock and woken T. */
static bool wall_follow_owner(struct thread *t, struct thread_wall *w)
{
	struct wait now = w->wait;
	struct wall_owner *next;
	bool is_same;

	if (!now.is_futex || !(now.owner_kinds || now.cause == WAIT_GIL))
		return true;
	wall_find_owner(&now, t);
	is_same = now.owner == w->wait.owner;
	if (is_same && (!now.owner || (w->owner && wall_owner_is_current(w->owner))))
		return true;
	if (!now.owner && wait_has_ended(atomic_load(&t->tid), &w->seen))
		return false;
	next = wall_request_owner(&now);
	if (is_same && !next && !w->owner)
		return true;
	if (!w->wait.is_handed_over)
		wall_write_event(wall.jfr, t);
	w->wait.owner = now.owner;
	w->wait.is_handed_over = now.is_handed_over;
	wall_owner_free(w->owner);
	w->owner = next;
	return true;
}

/* T has run, and waits again in the known stack, with another WAIT. */
static void wall_count_returned(struct thread *t, struct thread_wall *w, struct wait *wait,
				uint64_t cpu_ns, uint32_t visits)
{
	wall_write_event(wall.jfr, t);
	wait_move(&w->wait, wait);
	wait_set_cause_by_stack(&w->wait, wall.symbols, w->pcs, w->depth);
	wall_owner_free(w->owner);
	w->owner = wall_request_owner(&w->wait);
	w->cpu_ns = cpu_ns;
	w->settled = true;
	wall_count_sleeper(t, w, visits);
	cost_add(COST_WALL, 0, visits);
}

/* The thread waits elsewhere now: keep the visits at its last wait. Without room they count for the next wait. */
static void wall_keep_earlier(struct thread_wall *w)
{
	struct wall_earlier *e = w->earlier;

	while (e < w->earlier + WALL_EARLIER_MAX && e->wait.state != WAIT_UNKNOWN &&
	       !wait_is_same_place(&e->wait, &w->asked_wait))
		e++;
	if (e == w->earlier + WALL_EARLIER_MAX)
		return;
	wait_move(&e->wait, &w->asked_wait);
	e->visits += w->owed[WAIT_WAITING];
	w->owed[WAIT_WAITING] = 0;
}

/* Write the VISITS of T at WAIT, where no sample has interrupted it: of its stack, only PC is known, the place of the call. */
static void wall_write_place(struct jfr_writer *jfr, const struct thread *t,
			     const struct wait *wait, uintptr_t pc, uint32_t visits)
{
	wall_use_wait(jfr, wait, NULL);
	jfr_wall_sample(jfr, clock_ticks(), atomic_load(&t->tid), program_stack(jfr, &pc, 1, true),
			JFR_STATE_SLEEPING, visits, 0);
}

/* T waits in CALL, which a signal might end. */
static void wall_count_uninterrupted(struct thread *t, const struct wait *wait,
				     const struct thread_call *call, uint32_t visits)
{
	wall_write_place(wall.jfr, t, wait, call->pc, visits);
	threads_counted(t, clock_ticks());
	cost_add(COST_WALL, 0, visits);
}

static void wall_request(struct thread *t, struct thread_wall *w, uint64_t cpu_ns, uint32_t visits)
{
	struct thread_call call;
	struct wait wait = { 0 };

	wall_look(t, &wait, cpu_ns, &w->seen);
	wall_find_owner(&wait, t);
	if (w->known && wait.state == WAIT_WAITING && !wall_is_asked(t, w) &&
	    !thread_context_may_exist() && wall_place_is_same(&w->place, &wait)) {
		wall_count_returned(t, w, &wait, cpu_ns, visits);
		return;
	}
	if (fuse_call_find(atomic_load(&t->tid), &call)) {
		wall_count_uninterrupted(t, &wait, &call, visits);
		wait_clear(&wait);
		return;
	}
	if (wait.state == WAIT_WAITING && w->asked_wait.state == WAIT_WAITING &&
	    !wait_is_same_place(&wait, &w->asked_wait))
		wall_keep_earlier(w);
	w->owed[wait.state] += visits;
	if (wait.state == WAIT_WAITING) {
		wait_move(&w->asked_wait, &wait);
		wall_place_see(&w->asked_place, &w->asked_wait);
		wall_owner_free(w->asked_owner);
		w->asked_owner = wall_request_owner(&w->asked_wait);
	}
	w->asked = wall_interrupt(t);
}

/* The wait of T is over, but T has not got a processor yet. How the wait ended is known when it runs, so the event of its
 * samples is written then. */
static void wall_count_woken(struct thread *t, struct thread_wall *w, uint32_t visits)
{
	static const struct wait runnable = { .state = WAIT_RUNNABLE };
	uint64_t ticks = clock_ticks();

	wall_use_wait(wall.jfr, &runnable, NULL);
	jfr_use_context(wall.jfr, sample_context_id(wall.jfr, wall_context(w)));
	jfr_wall_sample(wall.jfr, ticks, atomic_load(&t->tid),
			program_stack(wall.jfr, w->pcs, w->depth, w->truncated), JFR_STATE_RUNNABLE,
			visits, 0);
	threads_counted(t, ticks);
}

static void wall_visit_sleeper(struct thread *t, struct thread_wall *w, uint32_t visits)
{
	bool is_over = wait_is_over(&w->seen);

	if (!is_over) {
		wall_look_at_sleeper(t, w);
		is_over = !wall_follow_owner(t, w);
	}
	if (is_over)
		wall_count_woken(t, w, visits);
	else
		wall_count_sleeper(t, w, visits);
}

/* Count T at its known place, or request a sample for this number of VISITS. A thread whose sample
 * is pending has run since its known place, or blocks the signal: with looks, each visit counts with
 * that sample, in the state that the visit finds. */
static void wall_visit_thread(struct thread *t, struct thread_wall *w, uint32_t visits)
{
	bool is_asked = wall_is_asked(t, w), looks = wait_look_is_on();
	uint64_t cpu_ns = is_asked && !looks ? 0 : thread_clock_cpu(&t->clock);

	if (w->known && (is_asked ? !looks : wall_is_asleep(t, w, cpu_ns)))
		wall_visit_sleeper(t, w, visits);
	else
		wall_request(t, w, cpu_ns, visits);
}

struct visit {
	uint64_t since_ns, earliest_ns;
	size_t threads;
};

/* A thread without a time is visited with the others. */
static void wall_visit_if_due(struct thread *t, struct thread_wall *w)
{
	uint64_t times;

	if (!w->due_ns || w->due_ns > wall.now_ns || atomic_load(&t->ended))
		return;
	times = 1 + (wall.now_ns - w->due_ns) / wall.interval_ns;
	w->due_ns += times * wall.interval_ns;
	wall_visit_thread(t, w, (uint32_t)times);
}

static void wall_visit_one(void *context, struct thread *t)
{
	struct thread_wall *w = wall_state(t);
	struct visit *v = context;

	if (!w || atomic_load(&t->ended))
		return;
	v->threads++;
	/* A new thread has begun since the last round. Random, so that short-lived threads are counted in proportion. */
	if (!w->due_ns)
		w->due_ns = v->since_ns + wall.interval_ns - random_below(wall.interval_ns);
	wall_visit_if_due(t, w);
	if (w->due_ns < v->earliest_ns)
		v->earliest_ns = w->due_ns;
}

static void wall_visit_one_now(void *context, struct thread *t)
{
	struct thread_wall *w = wall_state(t);

	(void)context;
	if (w && !atomic_load(&t->ended))
		wall_visit_thread(t, w, 1);
}

void wall_visit_all(void)
{
	threads_each(wall_visit_one_now, NULL);
}

/* Up to so many threads are checked one by one: a thread of another profiler, such as
 * async-profiler's, blocks the signal. */
#define PENDING_FEW 16

struct asked {
	unsigned count;
	int without; /* threads that block this signal are not counted; 0: all are */
};

static void wall_add_pending(void *context, struct thread *t)
{
	const struct thread_wall *w = wall_state(t);
	struct asked *asked = context;

	if (w && wall_is_asked(t, w) && !atomic_load(&t->ended) &&
	    !(asked->without && thread_mask_has(atomic_load(&t->tid), asked->without)))
		asked->count++;
}

unsigned wall_count_pending(int signo)
{
	struct asked all = { 0 }, awake = { 0 };

	threads_each(wall_add_pending, &all);
	if (!all.count || all.count > PENDING_FEW || signo < 1)
		return all.count;
	awake.without = signo;
	threads_each(wall_add_pending, &awake);
	return awake.count;
}

static void wall_count_thread(void *count, struct thread *t)
{
	*(size_t *)count += !atomic_load(&t->ended);
}

/* The first round is at a random time, as are all that follow. */
static void wall_begin_rounds(uint64_t now_ns)
{
	threads_each(wall_count_thread, &wall.visited);
	wall.first_ns = wall.next_ns = now_ns + random_below(wall_round_ns());
	wall.last_ns = wall.first_ns - wall_round_ns();
}

/* The time of the first round after TIME_NS. A late round does not move the others. */
static uint64_t wall_round_after(uint64_t time_ns)
{
	uint64_t round_ns = wall_round_ns();

	return wall.first_ns + ((time_ns - wall.first_ns) / round_ns + 1) * round_ns;
}

/* The last round, but at most one interval ago. */
static uint64_t wall_since_ns(uint64_t now_ns)
{
	return wall.last_ns + wall.interval_ns > now_ns ? wall.last_ns : now_ns - wall.interval_ns;
}

uint64_t wall_visit(uint64_t now_ns)
{
	struct visit v = { .earliest_ns = UINT64_MAX };

	if (wall.interval_ns == UINT64_MAX)
		return UINT64_MAX;
	if (!wall.first_ns)
		wall_begin_rounds(now_ns);
	if (now_ns < wall.next_ns)
		return wall.next_ns;
	v.since_ns = wall_since_ns(now_ns);
	wall.now_ns = now_ns;
	threads_each(wall_visit_one, &v);
	wall.visited = v.threads;
	wall.last_ns = now_ns;
	/* No threads: check again after one interval. */
	if (v.earliest_ns == UINT64_MAX)
		v.earliest_ns = now_ns + wall.interval_ns;
	wall.next_ns = wall_round_after(v.earliest_ns > now_ns ? v.earliest_ns - 1 : now_ns);
	return wall.next_ns;
}

static void wall_store_stack(struct thread_wall *w, const struct sample *sample)
{
	size_t bytes = (sample->count + sample->context) * sizeof(*sample->pcs);
	uintptr_t *pcs = realloc(w->pcs, bytes ? bytes : 1);

	w->known = false; /* when out of memory, the thread is just interrupted again */
	if (!pcs)
		return;
	memcpy(pcs, sample->pcs, bytes);
	w->pcs = pcs;
	w->depth = sample->count;
	w->context = sample->context;
	w->truncated = sample->truncated;
	w->known = true;
}

/* The thread sleeps at the place of SAMPLE. Count the visits there that found it waiting. */
static void wall_record_sleeper(struct thread_wall *w, const struct sample *sample)
{
	uint32_t samples = w->owed[WAIT_WAITING] + w->owed[WAIT_UNKNOWN];

	wall_store_stack(w, sample);
	if (!w->known)
		return;
	if (!w->truncated)
		wall_place_learn(&w->place, &w->asked_place, w->pcs, w->depth);
	wait_move(&w->wait, &w->asked_wait);
	wait_set_cause_by_stack(&w->wait, wall.symbols, w->pcs, w->depth);
	if (w->wait.owner) {
		w->owner = w->asked_owner;
		w->asked_owner = NULL;
	}
	if (samples)
		wall_count(w, samples, sample->ticks);
	w->owed[WAIT_WAITING] = w->owed[WAIT_UNKNOWN] = 0;
}

/* Write the OWED visits as events, one for each state. The state is the look's, because it was found
 * at the time of the visit: after an uninterruptible wait, for example, the handler finds the thread
 * running. */
static void wall_write_owed(struct jfr_writer *jfr, const struct sample *sample,
			    const uint32_t owed[WAIT_STATES], struct wait *waiting)
{
	uint32_t stack = 0;

	for (uint8_t i = 0; i < WAIT_STATES; i++) {
		struct wait other = { .state = i };

		if (!owed[i])
			continue;
		if (!stack)
			stack = program_stack(jfr, sample->pcs, sample->count, sample->truncated);
		jfr_use_context(jfr, sample_context_id(jfr, sample_context(sample)));
		if (i == WAIT_WAITING)
			wait_set_cause_by_stack(waiting, wall.symbols, sample->pcs, sample->count);
		wall_use_wait(jfr, i == WAIT_WAITING ? waiting : &other, NULL);
		jfr_wall_sample(jfr, sample->ticks, sample->tid, stack,
				i == WAIT_UNKNOWN   ? (enum jfr_thread_state)sample->state
				: i == WAIT_WAITING ? JFR_STATE_SLEEPING
						    : JFR_STATE_RUNNABLE,
				owed[i], 0);
	}
}

/* Count the visits at the known place that found the thread there again. */
static void wall_count_returns(struct thread_wall *w, uint64_t ticks)
{
	for (size_t i = 0; w->known && w->wait.sp && i < WALL_EARLIER_MAX; i++) {
		struct wall_earlier *e = &w->earlier[i];

		if (!e->visits || !wait_is_same_place(&e->wait, &w->wait))
			continue;
		wall_count(w, e->visits, ticks);
		e->visits = 0;
	}
}

/* Write the other visits before the last wait, at the place of SAMPLE: their own places are not known. */
static void wall_write_earlier(struct jfr_writer *jfr, const struct sample *sample,
			       struct thread_wall *w)
{
	for (size_t i = 0; i < WALL_EARLIER_MAX; i++) {
		struct wall_earlier *e = &w->earlier[i];
		uint32_t owed[WAIT_STATES] = { [WAIT_WAITING] = e->visits };

		e->wait.end = w->loop_end;
		wall_write_owed(jfr, sample, owed, &e->wait);
		wait_clear(&e->wait);
		e->visits = 0;
	}
}

/* Return END if WAIT is one of an event loop. A call at a ring returns the number of submitted requests instead. */
static uint8_t wall_loop_end(const struct wait *wait, enum ready_wait_end end)
{
	return wait->cause == WAIT_IDLE && wait->number != SYS_io_uring_enter ? (uint8_t)end
									      : READY_WAIT_UNKNOWN;
}

/* The end of W's last wait, if the signal was delivered when the thread left that call. */
static uint8_t wall_end_now(const struct thread_wall *w, const struct sample *sample)
{
	bool has_left = sample->state != JFR_STATE_SLEEPING && sample->count &&
			sample->pcs[0] == w->asked_wait.pc;

	return has_left ? wall_loop_end(&w->asked_wait, ready_wait_now(sample->args[2]))
			: READY_WAIT_UNKNOWN;
}

void wall_record(struct jfr_writer *jfr, const struct sample *sample)
{
	static const uint32_t once[WAIT_STATES] = { [WAIT_UNKNOWN] = 1 };
	struct thread *t = (struct thread *)(uintptr_t)sample->args[0];
	struct thread_wall *w = wall_state(t);

	/* The thread may have ended, and its slot may belong to another thread. */
	if (!w || atomic_load(&t->tid) != sample->tid) {
		wall_write_owed(jfr, sample, once, NULL);
		return;
	}
	wall_owner_deliver(t, sample);
	w->wait.end = wall_loop_end(&w->wait, ready_wait_before(sample->args[2]));
	if (w->wait.end)
		w->loop_end = w->wait.end;
	wall_count_returns(w, sample->ticks);
	wall_write_event(jfr, t);
	wall_write_earlier(jfr, sample, w);
	wait_clear(&w->wait);
	wall_owner_free(w->owner);
	w->owner = NULL;
	wall_place_clear(&w->place);
	w->asked = w->known = w->settled = false;
	w->cpu_ns = sample->args[1];
	if (sample->state == JFR_STATE_SLEEPING)
		wall_record_sleeper(w, sample);
	w->asked_wait.end = wall_end_now(w, sample);
	if (w->asked_wait.end)
		w->loop_end = w->asked_wait.end;
	else
		w->asked_wait.end = w->loop_end;
	/* None: this sample was still in the ring when another one was requested. */
	wall_write_owed(jfr, sample, w->owed, &w->asked_wait);
	memset(w->owed, 0, sizeof(w->owed));
	wait_clear(&w->asked_wait);
	wall_place_clear(&w->asked_place);
	wall_owner_free(w->asked_owner);
	w->asked_owner = NULL;
}

/* The frames of the owner's stack have names in this chunk only. */
static void wall_flush_one(void *context, struct thread *t)
{
	struct thread_wall *w = wall_state(t);

	wall_write_event(context, t);
	if (w && w->owner && w->owner->ticks) {
		wall_owner_free(w->owner);
		w->owner = NULL;
	}
}

void wall_flush(struct jfr_writer *jfr)
{
	threads_each(wall_flush_one, jfr);
}

void wall_keep_frames(void)
{
	for (size_t i = 0; i < wall.room; i++)
		for (uint32_t j = 0; wall.threads[i].known && j < wall.threads[i].depth; j++)
			wall.threads[i].pcs[j] = frame_table_keep(wall.threads[i].pcs[j]);
}

/* Write the visits at WAIT as an event, if their place is known, and clear their number. */
static void wall_write_wait(struct jfr_writer *jfr, const struct thread *t, struct wait *wait,
			    uint32_t *visits)
{
	if (!*visits || !wait->pc)
		return;
	wait_set_cause_by_stack(wait, wall.symbols, &wait->pc, 1);
	wall_write_place(jfr, t, wait, wait->pc, *visits);
	*visits = 0;
}

static void wall_write_waits_of(struct jfr_writer *jfr, const struct thread *t,
				struct thread_wall *w)
{
	for (size_t i = 0; i < WALL_EARLIER_MAX; i++)
		wall_write_wait(jfr, t, &w->earlier[i].wait, &w->earlier[i].visits);
	wall_write_wait(jfr, t, &w->asked_wait, &w->owed[WAIT_WAITING]);
}

static void wall_write_waits_one(void *context, struct thread *t)
{
	struct thread_wall *w = wall_state(t);

	if (w)
		wall_write_waits_of(context, t, w);
}

void wall_write_waits(struct jfr_writer *jfr)
{
	threads_each(wall_write_waits_one, jfr);
}

static uint64_t wall_owed_visits(const struct thread_wall *w)
{
	uint64_t visits = 0;

	for (size_t i = 0; i < WAIT_STATES; i++)
		visits += w->owed[i];
	for (size_t i = 0; i < WALL_EARLIER_MAX; i++)
		visits += w->earlier[i].visits;
	return visits;
}

uint64_t wall_owed(void)
{
	uint64_t visits = 0;

	for (size_t i = 0; i < wall.room; i++)
		visits += wall_owed_visits(&wall.threads[i]);
	return visits;
}

uint64_t wall_end(struct jfr_writer *jfr, struct thread *thread)
{
	struct thread_wall *w;
	uint64_t owed;

	wall_write_event(jfr, thread);
	if (thread->index >= wall.room)
		return 0;
	w = &wall.threads[thread->index];
	wall_write_waits_of(jfr, thread, w);
	owed = wall_owed_visits(w);
	wall_state_clear(w);
	return owed;
}
