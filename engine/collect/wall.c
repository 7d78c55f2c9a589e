/* The wall clock: every thread is counted once an interval, and a sleeping one is not woken for
 * it twice.
 *
 * A thread that used no CPU time since its last sample still is where it was. So a sleeper is
 * interrupted once, and from then on only counted; what was counted becomes one event with a
 * number of samples, when it moves or when the chunk ends. */
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

/* A sleeper that we interrupted spends some CPU time on its way back to sleep, which is not a
 * life sign. Looked at once after each sample; from then on every nanosecond counts. */
#define BACK_TO_SLEEP_NS 50000u

/* Visits that fall due close together are made in one round; between rounds lies at least a
 * twentieth of the interval. */
#define ROUNDS_MAX    20
#define ROUND_MIN_NS  1000000u
#define SPREAD_MAX_NS 10000000u

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
	*w = (struct thread_wall){ .told = w->told };
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

static void count(struct thread_wall *w, uint32_t samples, uint64_t ticks)
{
	if (!w->samples)
		w->first = ticks;
	w->samples += samples;
	w->last = ticks;
}

/* The thread shall see that it was sampled: it sleeps, but perhaps inside a turn of an event loop. */
static void wall_count_sleeper(struct thread *t, struct thread_wall *w, uint32_t samples)
{
	uint64_t ticks = clock_ticks();

	count(w, samples, ticks);
	threads_counted(t, ticks);
}

static bool still_asleep(struct thread_wall *w, uint64_t cpu_ns)
{
	bool asleep = w->settled ? cpu_ns == w->cpu_ns : cpu_ns - w->cpu_ns <= BACK_TO_SLEEP_NS;

	if (asleep) {
		w->cpu_ns = cpu_ns;
		w->settled = true;
	}
	return asleep;
}

/* Over how long the samples of a round are spread: longer than a tick of the scheduler, where the
 * interval has room for that. */
static uint64_t wall_visit_thread(void)
{
	return wall.interval_ns / 4 < SPREAD_MAX_NS ? wall.interval_ns / 4 : SPREAD_MAX_NS;
}

struct visit {
	uint64_t now_ns, earliest_ns;
};

static void visit(void *context, struct thread *t)
{
	struct thread_wall *w = wall_state(t);
	struct visit *v = context;
	uint64_t cpu_ns, times;

	if (!w || atomic_load(&t->ended))
		return;
	if (!w->due_ns) /* anywhere in the interval, so that short lives count rightly */
		w->due_ns = v->now_ns + random_below(wall.interval_ns);
	if (w->due_ns <= v->now_ns) {
		times = 1 + (v->now_ns - w->due_ns) / wall.interval_ns;
		w->due_ns += times * wall.interval_ns;
		cpu_ns = thread_clock_cpu(&t->clock);
		if (w->known && (w->asked || still_asleep(w, cpu_ns))) {
			/* Asked in vain: it cannot take the signal, so it is still there. */
			wall_count_sleeper(t, w, (uint32_t)times);
		} else {
			w->owed += (uint32_t)times;
			w->asked = thread_clock_interrupt(&t->clock, wall_visit_thread());
		}
	}
	if (w->due_ns < v->earliest_ns)
		v->earliest_ns = w->due_ns;
}

static void wall_visit_one_now(void *context, struct thread *t)
{
	struct thread_wall *w = wall_state(t);

	(void)context;
	if (!w || atomic_load(&t->ended))
		return;
	if (w->known && (w->asked || still_asleep(w, thread_clock_cpu(&t->clock)))) {
		wall_count_sleeper(t, w, 1);
	} else {
		w->owed++;
		w->asked = thread_clock_interrupt(&t->clock, wall_visit_thread());
	}
}

void wall_visit_all(void)
{
	threads_each(wall_visit_one_now, NULL);
}

/* So few are looked at one by one: a thread of another profiler's, as those of async-profiler, takes no signal. */
#define PENDING_FEW 16

struct asked {
	unsigned count;
	uint64_t without; /* who blocks one of these */
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

	if (w && w->asked && !atomic_load(&t->ended) &&
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
	threads_each(visit, &v);
	if (round < ROUND_MIN_NS)
		round = ROUND_MIN_NS;
	/* No thread at all: look again in an interval. */
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

	w->known = false; /* without memory it is interrupted again, no worse */
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

	/* Its thread may have ended, and the slot be another's. */
	if (w && atomic_load(&t->tid) == sample->tid) {
		wall_write_event(jfr, t);
		samples = w->owed ? w->owed : 1;
		w->owed = 0;
		w->asked = w->known = w->settled = false;
		w->cpu_ns = sample->args[1];
		if (sample->state == JFR_STATE_SLEEPING)
			wall_store_stack(w, sample);
		if (w->known) {
			count(w, samples, sample->ticks);
			return;
		}
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

struct broadcasters {
	struct jfr_writer *jfr;
	void (*each)(void *context, const struct wall_pending *pending);
	void *context;
};

static void tell(void *context, struct thread *t)
{
	struct thread_wall *w = wall_state(t);
	struct broadcasters *broadcasters = context;
	struct wall_pending pending;

	if (!w || !w->known || !w->samples || w->samples == w->told)
		return;
	pending = (struct wall_pending){ .slot = t->index,
					 .tid = atomic_load(&t->tid),
					 .samples = w->samples,
					 .first = w->first,
					 .last = w->last };
	pending.stack = jfr_stack(broadcasters->jfr, w->pcs, w->depth, w->truncated);
	pending.context = sample_context_id(broadcasters->jfr, wall_context(w));
	w->told = w->samples;
	broadcasters->each(broadcasters->context, &pending);
}

void wall_pending(struct jfr_writer *jfr, bool anew,
		  void (*each)(void *context, const struct wall_pending *pending), void *context)
{
	struct broadcasters broadcasters = { jfr, each, context };

	for (size_t i = 0; i < wall.room; i++) {
		struct thread_wall *w = &wall.threads[i];

		if (!w->told || (!anew && w->samples))
			continue;
		w->told = 0;
		if (!anew)
			each(context, &(struct wall_pending){ .slot = i });
	}
	threads_each(tell, &broadcasters);
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
