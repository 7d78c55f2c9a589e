/* Timer that requests samples of one thread at exact CPU times. */
#include "core/timer/cpu_timer.h"

#include <sys/syscall.h>

#include "core/clock.h"
#include "core/kernel.h"
#include "core/random.h"
#include "core/signal_share.h"

/* Default tick when the kernel does not report a plausible one, and the plausible range. */
#define TICK_NS     4000000u
#define TICK_MIN_NS 100000u
#define TICK_MAX_NS 10000000u

/* A sample may be early by this: the monotonic clock counts interrupts, which the CPU clock does not. */
#define TOLERANCE_NS 2000u

/* Shortest fine timer: a new thread needs this long to reach the program's code. */
#define FINE_MIN_NS 20000u

/* Maximum number of fine timers for one target. After that the CPU timer alone waits for the target: many threads
 * compete, or the CPU clock is coarse. */
#define FINE_COUNT_MAX 16

/* After this many ticks a timer sends another signal, in case the first never reaches the handler. */
#define REPEAT_TICKS 25

/* A thread's CPU time before it starts its timer. */
#define BIRTH_NS 200000u

/* Average CPU time of recent short threads. If threads end before their first target, a fine timer costs more than
 * the rest of their start. So it is set only for targets within LIFE_FACTOR times this average. A thread that mostly
 * waits uses little CPU time, however long it lives. */
#define LIFE_FACTOR 4
#define LIFE_MAX    UINT64_C(1000000000)

static _Atomic uint64_t usual_life_ns = LIFE_MAX;

#define GOLDEN_RATIO 0x9e3779b97f4a7c15u

/* Position of the next thread's first target in its interval, in 1/2^64. Each next position adds the golden ratio,
 * which spreads any number of threads evenly. If threads live for a tenth of an interval, one in ten is sampled. */
static _Atomic uint64_t phase;

void cpu_timer_seed(void)
{
	atomic_store(&phase, random_below(UINT64_MAX));
}

/* The lead is how long before a target the CPU timer expires, in half ticks. A thread that competes for a processor may
 * run through some ticks until one finds it running: then its lead grows. */
#define LEAD_MIN  3
#define LEAD_MAX  9
#define LEAD_STEP 2

static uint64_t tick_ns(void)
{
	static _Atomic uint64_t known;
	uint64_t ns = atomic_load_explicit(&known, memory_order_relaxed);
	struct timespec tick = { 0 };

	if (ns)
		return ns;
	kernel_call4(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, (long)&tick, 0, 0);
	ns = clock_time_ns(&tick);
	if (ns < TICK_MIN_NS || ns > TICK_MAX_NS)
		ns = TICK_NS;
	atomic_store_explicit(&known, ns, memory_order_relaxed);
	return ns;
}

/* Instead of a base. */
#define STOPPED UINT64_MAX

static uint64_t base_load(const struct cpu_timer *timer)
{
	return atomic_load(&timer->base_ns_plus_one) - 1;
}

static void base_store(struct cpu_timer *timer, uint64_t base_ns)
{
	atomic_store(&timer->base_ns_plus_one, base_ns + 1);
}

static uint64_t lead_ns(const struct cpu_timer *timer)
{
	return timer->lead * tick_ns() / 2;
}

static uint64_t share_of(uint64_t interval_ns, uint64_t fraction)
{
	return (uint64_t)((unsigned __int128)fraction * interval_ns >> 64);
}

/* Return the position of target NUMBER in its interval. Mixing as in splitmix64. */
static uint64_t target_in_interval(const struct cpu_timer *timer, uint64_t number)
{
	uint64_t x = timer->seed + number * GOLDEN_RATIO;

	if (!number)
		return timer->first_ns;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return share_of(timer->interval_ns, x ^ x >> 31);
}

/* Return the number of targets that the thread has reached at CPU_NS of CPU time. */
static uint64_t targets_reached(const struct cpu_timer *timer, uint64_t base_ns, uint64_t cpu_ns)
{
	uint64_t used = cpu_ns > base_ns ? cpu_ns - base_ns + TOLERANCE_NS : 0;
	uint64_t whole = used / timer->interval_ns;

	return whole + (used % timer->interval_ns >= target_in_interval(timer, whole));
}

static int cpu_timer_set_cpu(struct cpu_timer *timer, uint64_t at_ns)
{
	atomic_store(&timer->expires_ns, at_ns);
	return thread_timer_set(&timer->cpu, thread_timer_cpu_clock(timer->signal.tid),
				&timer->signal, TIMER_ABSTIME, at_ns,
				timer->interval_ns + REPEAT_TICKS * tick_ns(), true);
}

static int cpu_timer_set_fine(struct cpu_timer *timer, uint64_t left_ns)
{
	atomic_store(&timer->is_fine_due, true);
	return thread_timer_set(&timer->fine, CLOCK_MONOTONIC, &timer->signal, 0, left_ns, 0,
				!thread_timer_exists(&timer->cpu));
}

/* Set a kernel timer for the next target. IS_SELF: the thread calls this, so it is not waiting. */
static int cpu_timer_set_next(struct cpu_timer *timer, uint64_t base_ns, uint64_t now_ns,
			      bool is_self)
{
	uint64_t target = base_ns + timer->aimed * timer->interval_ns +
			  target_in_interval(timer, timer->aimed);
	uint64_t left = target > now_ns + FINE_MIN_NS ? target - now_ns : FINE_MIN_NS;
	int err;

	if (left > lead_ns(timer)) {
		if (signal_share_is_scarce())
			thread_timer_delete_own(&timer->fine);
		return cpu_timer_set_cpu(timer, target - lead_ns(timer));
	}
	if (!is_self)
		return cpu_timer_set_cpu(timer, now_ns + 1);
	if (timer->fine_count++ < FINE_COUNT_MAX && !cpu_timer_set_fine(timer, left))
		return 0;
	err = cpu_timer_set_cpu(timer, target);
	return err ? cpu_timer_set_fine(timer, REPEAT_TICKS * tick_ns()) : 0;
}

/* Stop the timer again if another thread has stopped it meanwhile. */
static void cpu_timer_stop_if_stopped(struct cpu_timer *timer)
{
	if (base_load(timer) == STOPPED)
		cpu_timer_stop(timer);
}

void cpu_timer_init(struct cpu_timer *timer, const struct timer_signal *signal)
{
	timer->signal = *signal;
	atomic_store_explicit(&timer->base_ns_plus_one, STOPPED + 1, memory_order_relaxed);
	atomic_store_explicit(&timer->is_fine_due, false, memory_order_relaxed);
}

int cpu_timer_create(struct cpu_timer *timer)
{
	return thread_timer_set(&timer->cpu, thread_timer_cpu_clock(timer->signal.tid),
				&timer->signal, 0, 0, 0, true);
}

int cpu_timer_start(struct cpu_timer *timer, uint64_t interval_ns, bool is_new)
{
	uint64_t now = is_new ? 0 : thread_timer_cpu_ns(timer->signal.tid);
	uint64_t fraction = atomic_fetch_add(&phase, GOLDEN_RATIO);
	int err;

	timer->interval_ns = interval_ns;
	timer->seed = random_below(UINT64_MAX);
	timer->first_ns = 1 + share_of(interval_ns - 1, fraction);
	timer->aimed = 0;
	timer->fine_count = is_new && timer->first_ns > LIFE_FACTOR * atomic_load(&usual_life_ns)
				    ? FINE_COUNT_MAX
				    : 0;
	timer->begun_ns = is_new ? clock_monotonic_ns() : 0;
	timer->lead = LEAD_MIN;
	atomic_store(&timer->taken, 0);
	base_store(timer, now);
	err = cpu_timer_set_next(timer, now, now, is_new);
	if (err)
		base_store(timer, STOPPED);
	return err;
}

/* False if the agent has stopped or started TIMER since BASE was read: the fields that were read then may be of two
 * intervals. */
static bool base_is_unchanged(const struct cpu_timer *timer, uint64_t base)
{
	atomic_signal_fence(memory_order_seq_cst);
	return base_load(timer) == base;
}

bool cpu_timer_is_due(const struct cpu_timer *timer, uint64_t cpu_ns)
{
	uint64_t base = base_load(timer);

	return base != STOPPED &&
	       targets_reached(timer, base, cpu_ns) >
		       atomic_load_explicit(&timer->taken, memory_order_relaxed) &&
	       base_is_unchanged(timer, base);
}

uint32_t cpu_timer_advance(struct cpu_timer *timer, uint64_t cpu_ns)
{
	uint64_t base = base_load(timer);
	uint64_t taken = atomic_load_explicit(&timer->taken, memory_order_relaxed), reached;

	if (base == STOPPED)
		return 0;
	reached = targets_reached(timer, base, cpu_ns);
	/* Only a signal handler of this thread can intervene, and it then takes them. */
	if (reached <= taken || !base_is_unchanged(timer, base) ||
	    !atomic_compare_exchange_strong(&timer->taken, &taken, reached))
		return 0;
	return (uint32_t)(reached - taken);
}

void cpu_timer_continue(struct cpu_timer *timer, uint64_t cpu_ns, bool has_waited)
{
	uint64_t base = base_load(timer), next;

	cpu_timer_signal_arrived(timer);
	if (base == STOPPED)
		return;
	next = targets_reached(timer, base, cpu_ns);
	if (next != timer->aimed) {
		if (!timer->fine_count && timer->lead < LEAD_MAX) /* the CPU timer was late */
			timer->lead += LEAD_STEP;
		timer->aimed = next;
		timer->fine_count = 0;
	} else if (has_waited && timer->fine_count) { /* the fine timer interrupted the wait */
		timer->fine_count = FINE_COUNT_MAX;
		timer->lead = LEAD_MIN;
	}
	cpu_timer_set_next(timer, base, cpu_ns, true);
	cpu_timer_stop_if_stopped(timer);
}

/* Moving average over about eight threads. The caller passes the thread's age instead of its CPU time if that is
 * short enough: reading the CPU clock is a system call. */
static void life_record(uint64_t life_ns)
{
	uint64_t usual = atomic_load_explicit(&usual_life_ns, memory_order_relaxed);

	if (life_ns > LIFE_MAX)
		life_ns = LIFE_MAX;
	atomic_store_explicit(&usual_life_ns, usual - usual / 8 + life_ns / 8,
			      memory_order_relaxed);
}

uint32_t cpu_timer_end(struct cpu_timer *timer)
{
	uint64_t life = timer->begun_ns ? clock_monotonic_ns() - timer->begun_ns : UINT64_MAX / 2;
	uint64_t cpu_ns;
	uint32_t due = 0;

	if (base_load(timer) == STOPPED)
		return 0;
	/* A thread cannot use more CPU time than has passed. */
	if (timer->begun_ns && life + BIRTH_NS < timer->first_ns) {
		life_record(life);
	} else {
		cpu_ns = clock_cpu_ns();
		if (timer->begun_ns)
			life_record(cpu_ns < life ? cpu_ns : life);
		due = cpu_timer_advance(timer, cpu_ns);
	}
	cpu_timer_stop_own(timer);
	return due;
}

void cpu_timer_disarm(struct cpu_timer *timer)
{
	base_store(timer, STOPPED);
	thread_timer_disarm(&timer->cpu);
	thread_timer_disarm(&timer->fine);
}

bool cpu_timer_may_have_expired(const struct cpu_timer *timer)
{
	return base_load(timer) != STOPPED &&
	       thread_timer_cpu_ns(timer->signal.tid) + 2 * tick_ns() >=
		       atomic_load(&timer->expires_ns);
}

void cpu_timer_signal_arrived(struct cpu_timer *timer)
{
	atomic_store(&timer->is_fine_due, false);
}

bool cpu_timer_expects_fine(const struct cpu_timer *timer)
{
	return thread_timer_exists(&timer->fine) &&
	       (atomic_load(&timer->is_fine_due) || thread_timer_is_armed(&timer->fine));
}

void cpu_timer_pause(struct cpu_timer *timer)
{
	base_store(timer, STOPPED);
	thread_timer_delete(&timer->cpu);
}

void cpu_timer_stop(struct cpu_timer *timer)
{
	cpu_timer_pause(timer);
	thread_timer_delete(&timer->fine);
}

void cpu_timer_stop_own(struct cpu_timer *timer)
{
	base_store(timer, STOPPED);
	thread_timer_delete_own(&timer->cpu);
	thread_timer_delete_own(&timer->fine);
}
