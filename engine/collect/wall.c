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

#include "core/clock.h"
#include "core/random.h"
#include "engine/collect/program_stack.h"
#include "engine/collect/sample_context.h"
#include "engine/process/proc_file.h"
#include "engine/runtime/frame_table.h"

/* CPU time that an interrupted thread may use to go back to sleep. It is allowed at the first check
 * after each sample; later checks count every nanosecond as a move. */
#define BACK_TO_SLEEP_NS 50000u

/* Visits that are due close together are made in one round. Rounds are at least a twentieth of the
 * interval apart. */
#define ROUNDS_MAX   20
#define ROUND_MIN_NS 1000000u

#define SLOTS_MIN 64

static struct {
	uint64_t interval_ns;
	uint64_t next_ns;
	struct thread_wall *threads; /* by the index of their slots */
	size_t room;
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

void wall_start(uint64_t interval_ns)
{
	wall.interval_ns = interval_ns;
	wall.next_ns = 0;
}

static void wall_state_clear(struct thread_wall *w)
{
	free(w->pcs);
	*w = (struct thread_wall){ 0 };
}

void wall_stop(void)
{
	wall.interval_ns = UINT64_MAX;
	for (size_t i = 0; i < wall.room; i++)
		wall_state_clear(&wall.threads[i]);
	free(wall.threads);
	wall.threads = NULL;
	wall.room = 0;
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

static bool wall_is_asleep(struct thread_wall *w, uint64_t cpu_ns)
{
	bool asleep = w->settled ? cpu_ns == w->cpu_ns : cpu_ns - w->cpu_ns <= BACK_TO_SLEEP_NS;

	if (asleep) {
		w->cpu_ns = cpu_ns;
		w->settled = true;
	}
	return asleep;
}

/* Count T at its known place, or request a sample for this number of VISITS. */
static void wall_visit_thread(struct thread *t, struct thread_wall *w, uint32_t visits)
{
	if (w->known && (wall_is_asked(t, w) || wall_is_asleep(w, thread_clock_cpu(&t->clock)))) {
		wall_count_sleeper(t, w, visits);
	} else {
		w->owed += visits;
		w->asked = thread_clock_interrupt(&t->clock);
	}
}

struct visit {
	uint64_t now_ns, earliest_ns;
};

static void wall_visit_one(void *context, struct thread *t)
{
	struct thread_wall *w = wall_state(t);
	struct visit *v = context;
	uint64_t times;

	if (!w || atomic_load(&t->ended))
		return;
	if (!w->due_ns) /* random, so that short-lived threads are counted in proportion */
		w->due_ns = v->now_ns + random_below(wall.interval_ns);
	if (w->due_ns <= v->now_ns) {
		times = 1 + (v->now_ns - w->due_ns) / wall.interval_ns;
		w->due_ns += times * wall.interval_ns;
		wall_visit_thread(t, w, (uint32_t)times);
	}
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
	uint64_t without; /* signal mask: threads that block one of these are not counted */
};

static uint64_t blocked_signals(pid_t tid)
{
	static const char name[] = "\nSigBlk:";
	char text[4096], *line;

	if (proc_file_read_of(tid, "status", text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, name);
	return line ? strtoull(line + strlen(name), NULL, 16) : 0;
}

static void wall_add_pending(void *context, struct thread *t)
{
	const struct thread_wall *w = wall_state(t);
	struct asked *asked = context;

	if (w && wall_is_asked(t, w) && !atomic_load(&t->ended) &&
	    !(asked->without && blocked_signals(atomic_load(&t->tid)) & asked->without))
		asked->count++;
}

unsigned wall_count_pending(int signo)
{
	struct asked all = { 0 }, awake = { 0 };

	threads_each(wall_add_pending, &all);
	if (!all.count || all.count > PENDING_FEW || signo < 1)
		return all.count;
	awake.without = UINT64_C(1) << (signo - 1);
	threads_each(wall_add_pending, &awake);
	return awake.count;
}

uint64_t wall_visit(uint64_t now_ns)
{
	struct visit v = { .now_ns = now_ns, .earliest_ns = UINT64_MAX };
	uint64_t round = wall.interval_ns / ROUNDS_MAX;

	if (wall.interval_ns == UINT64_MAX)
		return UINT64_MAX;
	if (now_ns < wall.next_ns)
		return wall.next_ns;
	threads_each(wall_visit_one, &v);
	if (round < ROUND_MIN_NS)
		round = ROUND_MIN_NS;
	/* No threads: check again after one interval. */
	if (v.earliest_ns == UINT64_MAX)
		v.earliest_ns = now_ns + wall.interval_ns;
	wall.next_ns = v.earliest_ns < now_ns + round ? now_ns + round : v.earliest_ns;
	return wall.next_ns;
}

static const struct context_record *wall_context(const struct thread_wall *w)
{
	return w->context ? (const struct context_record *)(w->pcs + w->depth) : NULL;
}

static void wall_write_event(struct jfr_writer *jfr, struct thread *t)
{
	struct thread_wall *w = wall_state(t);
	uint32_t stack;

	if (!w || !w->samples || !w->known)
		return;
	stack = program_stack(jfr, w->pcs, w->depth, w->truncated);
	jfr_use_context(jfr, sample_context_id(jfr, wall_context(w)));
	jfr_wall_sample(jfr, w->first, t->tid, stack, JFR_STATE_SLEEPING, w->samples,
			w->last - w->first);
	w->samples = 0;
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

void wall_record(struct jfr_writer *jfr, const struct sample *sample)
{
	struct thread *t = (struct thread *)(uintptr_t)sample->args[0];
	struct thread_wall *w = wall_state(t);
	uint32_t samples = 1, stack;

	/* The thread may have ended, and its slot may belong to another thread. */
	if (w && atomic_load(&t->tid) == sample->tid) {
		wall_write_event(jfr, t);
		samples =
			w->owed; /* 0: this sample was still in the ring when another one was requested */
		w->owed = 0;
		w->asked = w->known = w->settled = false;
		w->cpu_ns = sample->args[1];
		if (sample->state == JFR_STATE_SLEEPING)
			wall_store_stack(w, sample);
		if (w->known && samples)
			wall_count(w, samples, sample->ticks);
		if (w->known || !samples)
			return;
	}
	stack = program_stack(jfr, sample->pcs, sample->count, sample->truncated);
	jfr_use_context(jfr, sample_context_id(jfr, sample_context(sample)));
	jfr_wall_sample(jfr, sample->ticks, sample->tid, stack, sample->state, samples, 0);
}

static void wall_flush_one(void *context, struct thread *t)
{
	wall_write_event(context, t);
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

void wall_end(struct jfr_writer *jfr, struct thread *thread)
{
	wall_write_event(jfr, thread);
	if (thread->index < wall.room)
		wall_state_clear(&wall.threads[thread->index]);
}
