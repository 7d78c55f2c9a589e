/* The C interface of async-profiler, which the builtin engine offers as well.
 *
 * Written from async-profiler's documentation of its native API (docs of version 4.5,
 * "Using async-profiler from native code"). The three calls on thread-local data and user
 * events exist since 4.0 and may be missing from an older library. */
#ifndef CORE_ASPROF_H
#define CORE_ASPROF_H

#include <stddef.h>
#include <stdint.h>

/* NULL is success. Any other value is a handle for asprof_error_str. */
typedef const char *asprof_error_t;

/* Receives a command's output in pieces; BUF is not NUL-terminated. */
typedef void (*asprof_writer_t)(const char *buf, size_t size);

struct asprof_thread_local_data {
	/* Time of this thread's newest sample in ticks; 0 before the first. Only comparisons are meaningful. */
	volatile uint64_t sample_counter;
};

/* Identifies a type of user events; negative is failure. */
typedef int asprof_jfr_event_key;

/* Maximum bytes of data in one user event. */
#define ASPROF_MAX_JFR_EVENT_LENGTH 2048

/* Where the package asprof-agent-java has the library, relative to the preload's directory. It is used for Java programs,
 * or if the user chose async-profiler: for other programs the builtin engine has more names. */
#define ASYNC_PROFILER_JAVA_FILE "asprof-agent/java/libasyncProfiler.so"

#endif
