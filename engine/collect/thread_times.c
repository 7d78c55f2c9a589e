/* Writes how much time each thread spent on processors, in the run queue and blocked. */
#include "engine/collect/thread_times.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "engine/collect/tick_rate.h"
#include "engine/process/cpu_limit.h"
#include "engine/process/thread_counts.h"

#define SLOTS_MIN 64

/* Threads of one report whose other counts are read too; the others keep theirs for a later report.
 * One thread takes up to 100 us. */
#define FULL_READS_MAX 256

/* State of the thread in a slot, at the last event. */
struct thread_time {
	pid_t tid; /* 0: none */
	uint64_t ticks;
	struct thread_counts counts;
};

static struct {
	bool is_on;
	struct thread_time *threads; /* by the index of their slots */
	size_t room;
	unsigned reads;                         /* full reads of this report */
	uint64_t throttled_ns, throttled_ticks; /* at the last event */
} times;

/* The state of T, whose counts start at zero if it is new; NULL when out of memory. */
static struct thread_time *time_state(const struct thread *t)
{
	size_t room = times.room ? times.room : SLOTS_MIN;
	struct thread_time *larger;

	while (room <= t->index)
		room *= 2;
	if (room > times.room) {
		larger = realloc(times.threads, room * sizeof(*larger));
		if (!larger)
			return NULL;
		memset(larger + times.room, 0, (room - times.room) * sizeof(*larger));
		times.threads = larger;
		times.room = room;
	}
	if (times.threads[t->index].tid != atomic_load(&t->tid))
		times.threads[t->index] = (struct thread_time){
			.tid = atomic_load(&t->tid),
			.ticks = t->born_ticks,
		};
	return &times.threads[t->index];
}

static uint64_t at_most(uint64_t value, uint64_t max)
{
	return value < max ? value : max;
}

/* The difference of a counter that only grows. */
static uint64_t increase(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* TICKS is the time of NOW. A thread notes its end, and may wait for a processor before it is known to have ended: then an
 * event has been written for a later time. */
static void times_write_event(struct jfr_writer *jfr, struct thread_time *state, uint64_t ticks,
			      const struct thread_counts *now)
{
	const struct thread_counts *before = &state->counts;
	uint64_t span_ns = tick_rate_ns(increase(ticks, state->ticks));
	struct jfr_thread_times event = {
		.cpu_ns = at_most(increase(now->cpu_ns, before->cpu_ns), span_ns),
		.major_faults = increase(now->major_faults, before->major_faults),
		.voluntary_switches = increase(now->voluntary_switches, before->voluntary_switches),
		.involuntary_switches =
			increase(now->involuntary_switches, before->involuntary_switches),
		.bytes_read = increase(now->bytes_read, before->bytes_read),
		.bytes_written = increase(now->bytes_written, before->bytes_written),
	};

	event.run_queue_ns =
		at_most(increase(now->queue_ns, before->queue_ns), span_ns - event.cpu_ns);
	event.blocked_ns = span_ns - event.cpu_ns - event.run_queue_ns;
	jfr_thread_times(jfr, state->ticks, increase(ticks, state->ticks), state->tid, &event);
	state->ticks = ticks;
	state->counts = *now;
}

/* The counts of T now. A thread that has not run has the same as before. Returns false if it has
 * ended. */
static bool counts_now(const struct thread *t, const struct thread_time *state,
		       struct thread_counts *now)
{
	uint64_t cpu_ns = thread_clock_cpu(&t->clock);

	*now = state->counts;
	if (cpu_ns == state->counts.cpu_ns)
		return true;
	if (!cpu_ns || thread_counts_read(state->tid, now, times.reads >= FULL_READS_MAX))
		return false;
	times.reads++;
	now->cpu_ns = cpu_ns; /* schedstat is older, while the thread runs */
	return true;
}

static void times_begin_one(void *unused, struct thread *t)
{
	struct thread_time *state = time_state(t);

	(void)unused;
	if (!state || atomic_load(&t->ended))
		return;
	/* (The other counts of further threads begin with those before the start.) */
	if (times.reads < FULL_READS_MAX)
		counts_now(t, state, &state->counts);
	else
		state->counts.cpu_ns = thread_clock_cpu(&t->clock);
	state->ticks = clock_ticks();
}

static void times_write_one(void *jfr, struct thread *t)
{
	struct thread_time *state = atomic_load(&t->ended) ? NULL : time_state(t);
	struct thread_counts now;

	if (state && counts_now(t, state, &now))
		times_write_event(jfr, state, clock_ticks(), &now);
}

static void times_write_throttling(struct jfr_writer *jfr, uint64_t ticks)
{
	uint64_t ns;

	if (cpu_limit_throttled(&ns))
		return;
	if (ns > times.throttled_ns)
		jfr_throttling(jfr, times.throttled_ticks, ticks - times.throttled_ticks,
			       ns - times.throttled_ns);
	times.throttled_ns = ns;
	times.throttled_ticks = ticks;
}

void thread_times_start(void)
{
	times.is_on = true;
	threads_each(times_begin_one, NULL);
	times.throttled_ticks = clock_ticks();
	if (cpu_limit_throttled(&times.throttled_ns))
		times.throttled_ns = 0;
}

void thread_times_stop(void)
{
	free(times.threads);
	memset(&times, 0, sizeof(times));
}

void thread_times_write(struct jfr_writer *jfr)
{
	if (!times.is_on)
		return;
	times.reads = 0;
	threads_each(times_write_one, jfr);
	times_write_throttling(jfr, clock_ticks());
}

/* (END is empty if the thread was never sampled: such a thread was short.) */
void thread_times_end(struct jfr_writer *jfr, struct thread *t, uint64_t queue_ns)
{
	struct thread_time *state = times.is_on && t->end.cpu_ns ? time_state(t) : NULL;
	struct thread_counts now;

	if (!state)
		return;
	now = state->counts;
	now.cpu_ns = t->end.cpu_ns;
	now.queue_ns = queue_ns > now.queue_ns ? queue_ns : now.queue_ns;
	now.major_faults = t->end.major_faults;
	now.voluntary_switches = t->end.voluntary_switches;
	now.involuntary_switches = t->end.involuntary_switches;
	times_write_event(jfr, state, t->end.ticks, &now);
	*state = (struct thread_time){ 0 };
}
