/* The agent, as threads of the program see it: started, stopped and asked for reports. What it is on its own
 * side: core/agent/agent_thread.h. */
#ifndef CORE_AGENT_H
#define CORE_AGENT_H

#include <stdbool.h>
#include <stdint.h>

struct engine;

/* Have BEGIN start a thread of ours that calls agent_run(), and which touches nothing before DUE_NS, of
 * clock_monotonic_ns(). Returns 0, -EALREADY while there is one, or what BEGIN does, -errno. ENDED is called
 * when that thread is about to end, on it, or when it could not be started; it runs where there may be no C
 * library. Async-signal-safe where BEGIN is. */
int agent_start(uint64_t due_ns, int (*begin)(void), void (*ended)(void));

/* For the thread that is begun, before agent_run(): it has been called off meanwhile, and is to end.
 * Async-signal-safe, as is the next. */
bool agent_stop_is_requested(void);

/* In place of agent_run(): the thread will touch nothing any more. */
void agent_set_ended(void);

/* Likewise, for the reason ERR, -errno: it cannot say so itself. */
void agent_failed(int err);

/* What agent_failed() was told last, and 0 from then on; 0: nothing. */
int agent_failure(void);

/* There is a thread of it, which has begun to profile or is going to. Async-signal-safe. */
bool agent_exists(void);

/* True from the first sample that may be taken to the last, but for pauses. */
bool agent_is_running(void);

/* End a pause, which somebody has asked for at the live endpoint. False where there is none. Any thread. */
bool agent_resume(void);

/* Close the interval that is under way and wait, TIMEOUT_NS at most, until the reporters have
 * taken it. Any thread; not in signal context. Returns 0, -ESRCH without a running agent, or
 * -ETIMEDOUT. */
int agent_flush(uint64_t timeout_ns);

/* Have the interval that is under way closed and reported now, without waiting for it.
 * Async-signal-safe, from any thread. */
void agent_request_report(void);

/* Have the setting NAME, without its prefix, be VALUE from now on, and wait for that, TIMEOUT_NS at most. Any thread;
 * not in signal context. Returns 0; -EINVAL for a name or a value that is not accepted, with a line in the log, or where
 * either is NULL; -E2BIG for a value that is too long; -ESRCH without a running agent; -ETIMEDOUT; or what the engine
 * failed with. */
int agent_set(const char *name, const char *value, uint64_t timeout_ns);

/* Close the last interval, deliver it, and end the agent thread; wait for that TIMEOUT_NS at
 * most. While the start delay runs there is nothing to wait for: the thread will touch nothing,
 * but may not be gone yet. Async-signal-safe. Returns as above. */
int agent_stop(uint64_t timeout_ns);

/* The same of a program that goes on, and wants to be as it was before: handlers of signals go, too. */
int agent_leave(uint64_t timeout_ns);

/* Somebody is in agent_stop(), or about to be: wait as long as he does, TIMEOUT_NS at most. Async-signal-safe, also in
 * a handler that has interrupted him. */
void agent_await_stop(uint64_t timeout_ns);

/* The calling thread may have changed what it may do: have the agent thread give up what the program
 * has given up, and wait for that, TIMEOUT_NS at most. Async-signal-safe, from any thread. */
void agent_follow(uint64_t timeout_ns);

/* exit(3) was called, and its handlers are about to run. From here on no engine is loaded: the
 * handlers of a library whose constructors still run would pull its data from under it. One that
 * is being loaded or started now is waited for, TIMEOUT_NS at most. */
void agent_before_exit(uint64_t timeout_ns);

/* In a forked child: there is no agent. */
void agent_forget(void);

/* The engine that is running, or NULL. Any thread. */
const struct engine *agent_engine(void);

/* The engine that runs, if any, is one that the agent's thread serves; it has none of its own.
 * Async-signal-safe, and in a forked child as well, in which agent_engine() points to nothing. */
bool agent_serves_engine(void);

#endif
