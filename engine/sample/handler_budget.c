/* Per-thread limit of the time spent in sampling handlers. */
#include "engine/sample/handler_budget.h"

#include "core/clock.h"

/* The pause after a sample that took T, in multiples of T: CPU time, or wall-clock time. */
#define CPU_SHARE  10
#define WALL_SHARE 50

/* The kernel's time to enter and leave a handler. */
#define ENTRY_NS 2000u

/* Reading the CPU clock costs a system call. It is read only for handlers that take longer than
 * this, and for the sample after such a handler. A handler may also take long because its thread
 * has no processor. */
#define LONG_NS 20000u

/* The most time counted for an unexpected long handler. */
#define UNEXPECTED_NS 200000u

#define LATE_NS 1000000u

static __thread struct {
	uint64_t begin_ns, begin_cpu_ns; /* the second is 0 unless a long handler is expected */
	uint64_t next_ns, next_cpu_ns;   /* the next sample is allowed when either is reached */
	bool was_long;
} own;

bool handler_budget_begin(void)
{
	own.begin_ns = clock_monotonic_ns();
	own.begin_cpu_ns = own.was_long ? clock_cpu_ns() : 0;
	return own.begin_ns >= own.next_ns || (own.was_long && own.begin_cpu_ns >= own.next_cpu_ns);
}

uint64_t handler_budget_wait_ns(void)
{
	return own.next_ns > own.begin_ns ? own.next_ns - own.begin_ns : 1;
}

bool handler_budget_is_late(void)
{
	return clock_monotonic_ns() - own.begin_ns > LATE_NS;
}

static uint64_t end_long(uint64_t now_ns, uint64_t took_ns)
{
	uint64_t cpu_ns = clock_cpu_ns();

	if (own.begin_cpu_ns)
		took_ns = cpu_ns - own.begin_cpu_ns;
	else if (took_ns > UNEXPECTED_NS)
		took_ns = UNEXPECTED_NS;
	own.next_cpu_ns = cpu_ns + CPU_SHARE * (took_ns + ENTRY_NS);
	own.next_ns = now_ns + WALL_SHARE * (took_ns + ENTRY_NS);
	return took_ns;
}

uint64_t handler_budget_end(void)
{
	uint64_t now_ns = clock_monotonic_ns(), took_ns = now_ns - own.begin_ns;

	own.was_long = took_ns > LONG_NS;
	if (own.was_long)
		return end_long(now_ns, took_ns);
	own.next_ns = now_ns + CPU_SHARE * (took_ns + ENTRY_NS);
	return took_ns;
}
