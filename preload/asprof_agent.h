/* The agent's C interface, for programs that control how they are profiled.
 *
 * All functions are weak: a program built with this header needs no library, and runs without the preload. Then the
 * functions are NULL, and the macros below do nothing:
 *
 * if (asprof_agent_flush) asprof_agent_flush();
 *
 * Any thread may call them, but not a signal handler. Functions that wait are no cancellation points. In a forked
 * child they refer to the child's own agent, which starts as its parent's did; a current iteration of the parent
 * ends there. */
#ifndef ASPROF_AGENT_H
#define ASPROF_AGENT_H

#ifdef __cplusplus
extern "C" {
#endif

#define ASPROF_AGENT_API __attribute__((weak, visibility("default")))

/* Start profiling if it was stopped or never started. The settings are those of the environment at the program's
 * start, and ASPROF_AGENT_START_DELAY applies. If the live endpoint has stopped profiling, it continues at once,
 * with the same settings. Returns 0, or -1 with errno set: EALREADY when profiling runs; EPERM when the settings
 * exclude this program or one of them is invalid, and in a forked child with ASPROF_AGENT_FORK=off; EAGAIN or ENOMEM
 * when no thread can be created. */
ASPROF_AGENT_API int asprof_agent_start(void);

/* Finish and deliver the last report, wait for that (ASPROF_AGENT_EXIT_TIMEOUT at most), and stop profiling.
 * Threads, timers and signal handlers are then as before the start, except async-profiler's handlers. Returns 0, or
 * -1 with errno set: ESRCH when profiling does not run, ETIMEDOUT. */
ASPROF_AGENT_API int asprof_agent_stop(void);

/* Finish the current report, deliver it now, and wait as above, until it is written or stored for its delivery.
 * Returns as above. */
ASPROF_AGENT_API int asprof_agent_flush(void);

/* Change the setting NAME to VALUE: CPU_INTERVAL, WALL_INTERVAL, NATIVE_MEM, BUDGET, STALLS, REPORTING_INTERVAL,
 * PROFILING_GROUP, TAGS or LOG, with values as in the environment (`asprof-agent options`). If the engine must
 * restart, earlier samples are reported first. Waits as above, and longer while async-profiler restarts. A forked child has the settings of the environment.
 * Returns 0, or -1 with errno set: EINVAL when NAME or VALUE is NULL or invalid (the log says why); E2BIG for a
 * value of 1,024 bytes or more; ESRCH when profiling does not run; ETIMEDOUT. */
ASPROF_AGENT_API int asprof_agent_set(const char *name, const char *value);

/* Return 1 while the program is profiled: not during the start delay or a pause. Otherwise 0. */
ASPROF_AGENT_API int asprof_agent_running(void);

/* Around one iteration of an event loop, or one poll of a task, on the same thread. If the thread is sampled in
 * between, the event tokio.PollcatchV1 is recorded with the times of both ends. A poll as long as the wall interval
 * always has a sample. `asprof-agent longpolls` finds long iterations by it. Iterations do not nest. One without a
 * sample costs some nanoseconds. */
ASPROF_AGENT_API void asprof_agent_poll_begin(void);
ASPROF_AGENT_API void asprof_agent_poll_end(void);

/* For the bridge to the crate async-profiler-agent, which has its own hooks around a poll. */
#define ASPROF_AGENT_POLL_EVENT "tokio.PollcatchV1"

/* Return the calling thread's sample counter, or NULL when profiling does not run. Each sample changes it. */
struct asprof_thread_local_data;
ASPROF_AGENT_API struct asprof_thread_local_data *asprof_agent_poll_counter(void);

/* Record that event for the calling thread. The times are from the processor's timestamp counter. Returns 0, or -1
 * with errno set: ESRCH when profiling does not run. */
ASPROF_AGENT_API int asprof_agent_poll_record(unsigned long long began, unsigned long long ended);

/* Label the calling thread until the label changes: its samples have KEY=VALUE, and so have reports made from them.
 * VALUE NULL or "" removes the label. At most 512 bytes of keys and values with a NUL each, in at most 4096 threads
 * at a time. After a fork the child's thread has the labels of the forking thread; a new thread has none. Only
 * samples of the builtin engine have labels: async-profiler's format has no field for them. A change costs about ten
 * nanoseconds; a sample with labels costs their copy. Returns 0, or -1 with errno set: EINVAL for a KEY that is
 * empty, longer than 128 bytes, or has a '=' or a control character; ENOSPC beyond either limit, with unchanged
 * labels; ENOMEM. */
ASPROF_AGENT_API int asprof_agent_label(const char *key, const char *value);

/* Return the version, such as "0.1.0". */
ASPROF_AGENT_API const char *asprof_agent_version(void);

#define ASPROF_AGENT_POLL_BEGIN() \
	((void)(asprof_agent_poll_begin && (asprof_agent_poll_begin(), 1)))
#define ASPROF_AGENT_POLL_END() ((void)(asprof_agent_poll_end && (asprof_agent_poll_end(), 1)))

#define ASPROF_AGENT_LABEL(key, value) \
	((void)(asprof_agent_label && (asprof_agent_label((key), (value)), 1)))

#ifdef __cplusplus
}
#endif

#endif
