/* Per-thread limit of the time spent in sampling handlers, for all engines.
 *
 * Each thread has a debt: the time that its handlers took. CPU time outside the handlers pays for a sixteenth of it. A
 * sample is refused while the debt is too high. So no thread spends more than a tenth of its CPU time in handlers, over
 * any 100 ms of its CPU time.
 *
 * Async-signal-safe. The calling thread's handler calls these functions; no other sample may
 * interrupt it. */
#ifndef ENGINE_SAMPLE_HANDLER_BUDGET_H
#define ENGINE_SAMPLE_HANDLER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Start a sample, at CPU_NS of the thread's CPU time. Returns false when the sample must be skipped; then do not call
 * handler_budget_end(). */
bool handler_budget_begin(uint64_t cpu_ns);

/* The same for a sample that is lost if it is refused. In a thread that mostly waits, handlers may also use a fiftieth of
 * the wall-clock time. */
bool handler_budget_begin_wall(uint64_t cpu_ns);

/* After a refusal: nanoseconds until the sample is allowed if the thread runs, at least 1; 0 after several refusals: the
 * thread waits. */
uint64_t handler_budget_wait_ns(void);

/* True when the handler has run for so long since handler_budget_begin() that it should finish. */
bool handler_budget_is_late(void);

/* Finish the sample. Returns the nanoseconds that it took, without time in which the thread had no processor. */
uint64_t handler_budget_end(void);

#endif
