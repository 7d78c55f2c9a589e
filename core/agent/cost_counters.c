/* Costs of sampling as the agent's side reads them. */
#include "core/agent/cost_counters.h"

#include "core/clock.h"
#include "core/system.h"

const char *const cost_names[COST_KINDS] = {
	[COST_CPU] = "cpu",       [COST_WALL] = "wall",   [COST_MEMORY] = "memory",
	[COST_STALLS] = "stalls", [COST_LOCKS] = "locks", [COST_INTERPRETERS] = "interpreters",
};

/* No signal is sent only to measure it: the agent's threads block all signals, and the program's must not be disturbed.
 * So the constant is a multiple of the duration of a short system call, which depends in the same way on the
 * processor, its mitigations and a hypervisor. A signal from a thread to itself takes 16 to 20 times as long. */
#define CALLS_PER_SIGNAL 16
#define CALLS            32
#define ROUNDS           4

#define SIGNAL_MIN_NS 500u
#define SIGNAL_MAX_NS 10000u

static uint64_t signal_measure_ns(void)
{
	uint64_t best_ns = UINT64_MAX, ns;

	for (int round = 0; round < ROUNDS; round++) {
		ns = clock_monotonic_ns();
		for (int i = 0; i < CALLS; i++)
			system_thread();
		ns = (clock_monotonic_ns() - ns) * CALLS_PER_SIGNAL / CALLS;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	if (best_ns < SIGNAL_MIN_NS)
		return SIGNAL_MIN_NS;
	return best_ns > SIGNAL_MAX_NS ? SIGNAL_MAX_NS : best_ns;
}

/* A CPU sample needs a timer, whose interrupt takes the sampled thread's CPU time: 1 us, or 15 us under a hypervisor. The
 * shortest sleep of this thread needs one as well. */
#define SLEEPS       4
#define TIMER_MAX_NS 30000u

static uint64_t timer_measure_ns(void)
{
	uint64_t best_ns = TIMER_MAX_NS, ns;

	for (int i = 0; i < SLEEPS; i++) {
		ns = clock_cpu_ns();
		system_sleep(1);
		ns = clock_cpu_ns() - ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	return best_ns;
}

uint64_t cost_timer_ns(void)
{
	static _Atomic uint64_t known;
	uint64_t ns = atomic_load(&known);

	if (!ns) {
		ns = timer_measure_ns() + 1;
		atomic_store(&known, ns);
	}
	return ns;
}

uint64_t cost_signal_ns(void)
{
	static _Atomic uint64_t known;
	uint64_t ns = atomic_load(&known);

	if (!ns) {
		ns = signal_measure_ns();
		atomic_store(&known, ns);
	}
	return ns;
}

/* A sampled allocation and its free take twice the time that their hooks measure: the program's next instructions miss the
 * processor's caches and predictions. That is about a third of a signal. */
#define MEMORY_SAMPLES_PER_SIGNAL 3

void cost_counters_read(struct cost costs[COST_KINDS])
{
	uint64_t signal_ns = cost_signal_ns();

	for (size_t i = 0; i < COST_KINDS; i++) {
		costs[i].samples = atomic_load(&shared->costs[i].samples);
		costs[i].agent_ns = atomic_load(&shared->costs[i].agent_ns);
		costs[i].ns = costs[i].agent_ns + atomic_load(&shared->costs[i].handlers_ns) +
			      signal_ns * atomic_load(&shared->costs[i].signals);
	}
	costs[COST_CPU].ns += cost_timer_ns() * atomic_load(&shared->costs[COST_CPU].signals);
	costs[COST_MEMORY].ns += signal_ns * costs[COST_MEMORY].samples / MEMORY_SAMPLES_PER_SIGNAL;
}
