/* Loader of async-profiler's library. */
#ifndef ASYNCPROF_ENGINE_LIBRARY_H
#define ASYNCPROF_ENGINE_LIBRARY_H

#include <stdbool.h>

#include "core/asprof.h"

/* Maximum bytes of a problem that engine_library_open() describes. */
#define ENGINE_LIBRARY_PROBLEM_MAX 1024

/* Exported functions. The last three exist since version 4.0; NULL in older versions. */
struct engine_functions {
	void (*init)(void);
	const char *(*error_str)(asprof_error_t err);
	asprof_error_t (*execute)(const char *command, asprof_writer_t output);
	struct asprof_thread_local_data *(*get_thread_local_data)(void);
	asprof_jfr_event_key (*register_jfr_event)(const char *name);
	asprof_error_t (*emit_jfr_event)(asprof_jfr_event_key key, const uint8_t *data,
					 size_t length);
};

/* Load LIBRARY, a soname or an absolute path, and fill in FUNCTIONS. With FOR_JAVA, the default soname is also
 * searched for in the directory of the package asprof-agent-java. Its imports are redirected (asyncprof/replaced_calls.h).
 * The caller calls init. The library is never unloaded, also after a failure: it may have created threads or handlers.
 *
 * Returns 0; -ENOENT when there is no such library, or it is the bridge; -ELIBBAD when it cannot be loaded, is not
 * async-profiler, or the limits of memory are too low for it. On failure PROBLEM has the reason. */
int engine_library_open(struct engine_functions *functions, const char *library, bool for_java,
			char *problem);

/* True when PATH, which is loaded, is the bridge for pollcatch (bridge/async_profiler.c). */
bool engine_library_is_bridge(const char *path);

/* True when LIBRARY is not the default of the setting. */
bool engine_library_is_configured(const char *library);

/* True when LIBRARY is probably installed. Every program with the setting `auto` waits for this, so it looks in few places,
 * which takes some microseconds (a hundred if the program has a run path); engine_library_open() may still not find the library. */
bool engine_library_is_likely(const char *library);

#endif
