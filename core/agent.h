/* Interface of the agent for the program's threads: start, stop, flush, set. The agent's own side:
 * core/agent/agent_thread.h. */
#ifndef CORE_AGENT_H
#define CORE_AGENT_H

#include <stdbool.h>
#include <stdint.h>

struct engine;

/* Start the agent. BEGIN creates the agent thread (an own thread, core/own_thread.h), which calls agent_run(). It loads
 * no engine and takes no sample before DUE_NS, a time of clock_monotonic_ns(). ENDED is called on that thread before it ends, or by the caller when the start
 * failed. The C library may be unusable in ENDED. Async-signal-safe if BEGIN is.
 *
 * Returns 0, -EALREADY while there is such a thread, or the -errno of BEGIN. */
int agent_start(uint64_t due_ns, int (*begin)(void), void (*ended)(void));

/* True when the agent thread was asked to stop, and exists. Async-signal-safe. */
bool agent_stop_is_requested(void);

/* For the agent thread, if it does not call agent_run(): it will touch nothing any more. Async-signal-safe. */
void agent_set_ended(void);

/* Like agent_set_ended(), after the failure ERR (-errno). This thread cannot log; agent_failure() returns the error. */
void agent_failed(int err);

/* Return the last error of agent_failed(), and reset it to 0; 0: no failure. */
int agent_failure(void);

/* True when the agent thread exists: it profiles, will begin to, or is about to end. Async-signal-safe. */
bool agent_exists(void);

/* True during the start delay: no engine has been chosen. Also a full memory barrier. Async-signal-safe. */
bool agent_is_delayed(void);

/* True while an engine runs, except during a pause; also until the last report is delivered. */
bool agent_is_running(void);

/* Request the end of a pause that the live endpoint was asked for. Returns false when there is no pause. Any thread. */
bool agent_resume(void);

/* Close the current interval and wait at most TIMEOUT_NS until the reporters have taken it. Any thread; not in
 * signal context. Returns 0, -ESRCH without a running agent, or -ETIMEDOUT. */
int agent_flush(uint64_t timeout_ns);

/* Request a report of the current interval, without waiting for it. Any thread. Async-signal-safe. */
void agent_request_report(void);

/* Set the option NAME (without prefix) to VALUE. Wait at most TIMEOUT_NS until the agent thread begins with it, then
 * until it has ended: if async-profiler must restart, for up to a minute. Any thread; not in signal context. Returns:
 * - 0
 * - -EINVAL for a name or a value that is not accepted, after a line in the log; or where either is NULL, or the name
 *   is too long
 * - -E2BIG for a value that is too long
 * - -ESRCH without a running agent
 * - -ETIMEDOUT
 * - the engine's error */
int agent_set(const char *name, const char *value, uint64_t timeout_ns);

/* Close the last interval, deliver it, and end the agent thread. Wait for that at most TIMEOUT_NS. During the start
 * delay there is no wait: the thread will touch nothing, but may still exist. Async-signal-safe. Returns 0, also in a
 * pause; -ESRCH without an agent thread, or in it; or -ETIMEDOUT. */
int agent_stop(uint64_t timeout_ns);

/* The same for a program that continues: the agent also removes its signal handlers. */
int agent_leave(uint64_t timeout_ns);

/* Another thread is in agent_stop(), or about to call it: wait until the agent has ended, until that
 * call's deadline, or for TIMEOUT_NS.
 * Async-signal-safe, also in a handler that has interrupted that call. */
void agent_await_stop(uint64_t timeout_ns);

/* The program has lost credentials; CHANGE is from privileges_changed(). Wake the agent thread and wait at most
 * TIMEOUT_NS until it has dropped them too. Then wait at most a tenth of a second until all own threads have. Any
 * thread. Async-signal-safe. */
void agent_follow(uint32_t change, uint64_t timeout_ns);

/* exit(3) was called, and its handlers are about to run. From now on no engine is loaded: exit handlers of a library
 * would free its data while its constructors still run. A start that is still delayed is cancelled; one that has begun is
 * waited for, at most TIMEOUT_NS. agent_stop() waits that much less. */
void agent_before_exit(uint64_t timeout_ns);

/* Reset the state in a forked child, which has no agent. */
void agent_forget(void);

/* The running engine, or NULL. Any thread. */
const struct engine *agent_engine(void);

/* True when the running engine is served by the agent thread and has no thread itself. Async-signal-safe. Valid also
 * in a forked child before agent_forget(), while the pointer of agent_engine() must not be used. */
bool agent_serves_engine(void);

#endif
