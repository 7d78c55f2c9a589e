/* Per-thread limit of the time spent in sampling handlers. */
#include "engine/sample/handler_budget.h"

#include "core/clock.h"

/* A thread's CPU time pays for this part of it in handlers. */
#define CPU_SHARE 16

/* A thread may be in debt by so much. The longest walk takes a millisecond (WALK_BUDGET_NS), and this, in 100 ms of CPU
 * time: (0.4 + 1 + 100 / 16) / (1 + 1 / 16) ms = 7.2 ms. The rest of 10 ms is for refused signals. */
#define CREDIT_NS 400000u

/* Of the wall-clock time, for signals that are lost if refused. */
#define WALL_SHARE 50

/* The kernel's time to enter and leave a handler. */
#define ENTRY_NS 2000u

/* The CPU clock is read only after handlers that took longer than this: a thread may have no processor meanwhile. */
#define LONG_NS 20000u

#define LATE_NS 1000000u

/* Retries of a refused wall-clock sample. A thread that waits earns nothing meanwhile. */
#define RETRIES_MAX 3

static __thread struct {
	uint64_t begin_ns, begin_cpu_ns;
	uint64_t paid_cpu_ns; /* CPU time that has paid for handlers */
	uint64_t debt_ns;     /* time in handlers that is not paid for */
	uint64_t next_ns;     /* when the wall-clock time allows the next sample */
	unsigned refusals;    /* since the last sample */
} own;

bool handler_budget_begin(uint64_t cpu_ns)
{
	uint64_t earned_ns = (cpu_ns - own.paid_cpu_ns) / CPU_SHARE;

	own.begin_ns = clock_monotonic_ns();
	own.begin_cpu_ns = own.paid_cpu_ns = cpu_ns;
	own.debt_ns = own.debt_ns > earned_ns ? own.debt_ns - earned_ns : 0;
	if (own.debt_ns <= CREDIT_NS)
		return true;
	own.refusals++;
	return false;
}

bool handler_budget_begin_wall(uint64_t cpu_ns)
{
	return handler_budget_begin(cpu_ns) || own.begin_ns >= own.next_ns;
}

uint64_t handler_budget_wait_ns(void)
{
	return own.refusals <= RETRIES_MAX ? CPU_SHARE * (own.debt_ns - CREDIT_NS) : 0;
}

bool handler_budget_is_late(void)
{
	return clock_monotonic_ns() - own.begin_ns > LATE_NS;
}

uint64_t handler_budget_end(void)
{
	uint64_t now_ns = clock_monotonic_ns(), took_ns = now_ns - own.begin_ns;

	if (took_ns > LONG_NS)
		took_ns = clock_cpu_ns() - own.begin_cpu_ns;
	own.paid_cpu_ns += took_ns; /* handlers do not pay for handlers */
	/* Otherwise wall-clock time has paid. If it added to the debt, a thread that mostly waits would have no CPU samples. */
	if (own.debt_ns <= CREDIT_NS)
		own.debt_ns += took_ns + ENTRY_NS;
	own.next_ns = now_ns + WALL_SHARE * (took_ns + ENTRY_NS);
	own.refusals = 0;
	return took_ns;
}
