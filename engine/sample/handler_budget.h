/* Per-thread limit of the time spent in sampling handlers, for all engines.
 *
 * After a sample that took T, the next one is allowed after 10 T of the thread's CPU time outside
 * the handlers, or after 50 T of wall-clock time. The handlers therefore use less than a tenth of a
 * thread's CPU time. In a thread that mostly waits they use at most a fiftieth of the wall-clock
 * time. Where T is below 20 us, the thread's CPU time is not read: 10 T of wall-clock time must
 * pass.
 *
 * Async-signal-safe. The calling thread's handler calls these functions; no other sample may
 * interrupt it. */
#ifndef ENGINE_SAMPLE_HANDLER_BUDGET_H
#define ENGINE_SAMPLE_HANDLER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Start a sample. Returns false when the sample must be skipped; then do not call
 * handler_budget_end(). */
bool handler_budget_begin(void);

/* After a refusal: nanoseconds until the next sample is allowed at the latest, at least 1. */
uint64_t handler_budget_wait_ns(void);

/* True when the handler has run for so long since handler_budget_begin() that it should finish. */
bool handler_budget_is_late(void);

/* Finish the sample. Returns the nanoseconds that it took, without time in which the thread had no processor. */
uint64_t handler_budget_end(void);

#endif
