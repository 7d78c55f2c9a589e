/* The agent's C interface, for programs that want a say in how they are profiled.
 *
 * All of it is weak: a program built with this header needs no library, and runs without the
 * preload. Then the functions are NULL, and the macros below do nothing:
 *
 *	if (asprof_agent_flush)
 *		asprof_agent_flush();
 *
 * Any thread may call them, but not a signal handler. Those that wait let a thread be cancelled nowhere. In a forked
 * child they are about the child's own agent, which comes as its parent's did; a turn that was under way in the
 * parent is none there. */
#ifndef ASPROF_AGENT_H
#define ASPROF_AGENT_H

#ifdef __cplusplus
extern "C" {
#endif

#define ASPROF_AGENT_API __attribute__((weak, visibility("default")))

/* Begin to profile, where it was stopped or never begun; the settings are those of the
 * environment at the program's start, and ASPROF_AGENT_START_DELAY comes first. Where the live
 * endpoint has stopped it, it goes on at once, with the settings as they were. Returns 0, or -1
 * with errno set: EALREADY when it runs; EPERM when the settings leave this program out or one of
 * them is wrong, and in a forked child with ASPROF_AGENT_FORK=off; EAGAIN or ENOMEM when no thread can be had. */
ASPROF_AGENT_API int asprof_agent_start(void);

/* Close and deliver the last report, wait for that (ASPROF_AGENT_EXIT_TIMEOUT at most), and
 * profile no more: threads, timers and signals' handlers are as before the start, but for async-profiler's handlers.
 * Returns 0, or -1 with errno set: ESRCH when nothing runs, ETIMEDOUT. */
ASPROF_AGENT_API int asprof_agent_stop(void);

/* Close the report that is under way, have it delivered now, and wait as above, until it is written
 * or kept for its delivery. Returns as above. */
ASPROF_AGENT_API int asprof_agent_flush(void);

/* Have the setting NAME be VALUE from now on: CPU_INTERVAL, WALL_INTERVAL, NATIVE_MEM, STALLS, REPORTING_INTERVAL,
 * PROFILING_GROUP, TAGS or LOG, with values as in the environment (`asprof-agent options`). What was sampled so far is reported
 * first where the engine has to begin anew for it. Waits for that, as above. A forked child has the settings of the
 * environment. Returns 0, or -1 with errno set: EINVAL for a name or a value that is not accepted, which the log
 * says, or is NULL; E2BIG for a value of 1,024 bytes or more; ESRCH when nothing runs; ETIMEDOUT. */
ASPROF_AGENT_API int asprof_agent_set(const char *name, const char *value);

/* 1 while samples are taken, else 0. */
ASPROF_AGENT_API int asprof_agent_running(void);

/* Around one turn of an event loop, or one poll of a task, on the same thread. When a sample of
 * that thread fell in between, as one did where the turn took as long as the wall interval, the event
 * tokio.PollcatchV1 with the times of both ends is recorded, by which `asprof-agent longpolls` finds
 * the turns that took long. Turns do not nest.
 * A turn without a sample costs some nanoseconds. */
ASPROF_AGENT_API void asprof_agent_poll_begin(void);
ASPROF_AGENT_API void asprof_agent_poll_end(void);

/* Label the calling thread, until it labels itself anew: its samples carry KEY=VALUE, and so do reports of what
 * they add up to. VALUE of NULL or "" takes the label away. At most 512 bytes of keys and values with a NUL each, in
 * 4096 threads at a time. A forked child's thread goes on with the labels of the one that forked; a new thread has
 * none. Only samples of the builtin engine carry labels: async-profiler's have no room for them.
 * A change costs some ten nanoseconds, a sample with labels no more than it takes to copy them.
 * Returns 0, or -1 with errno set: EINVAL for a KEY that is empty, longer than 128 bytes, or has a '=' or a
 * control character in it; ENOSPC past either bound, with the labels as they were; ENOMEM. */
ASPROF_AGENT_API int asprof_agent_label(const char *key, const char *value);

/* "0.1.0" */
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
