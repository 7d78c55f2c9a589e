/* async-profiler's library, by dlopen(3). */
#ifndef ASYNCPROF_ENGINE_LIBRARY_H
#define ASYNCPROF_ENGINE_LIBRARY_H

#include <stdbool.h>

#include "core/asprof.h"

/* Room for any problem that engine_library_open() describes. */
#define ENGINE_LIBRARY_PROBLEM_MAX 1024

/* What it exports. The last three exist since 4.0; NULL in an older one. */
struct engine_functions {
	void (*init)(void);
	const char *(*error_str)(asprof_error_t err);
	asprof_error_t (*execute)(const char *command, asprof_writer_t output);
	struct asprof_thread_local_data *(*get_thread_local_data)(void);
	asprof_jfr_event_key (*register_jfr_event)(const char *name);
	asprof_error_t (*emit_jfr_event)(asprof_jfr_event_key key, const uint8_t *data,
					 size_t length);
};

/* Open LIBRARY, a soname or an absolute path, and fill in FUNCTIONS from it; init is left to the
 * caller. The library stays in the process for ever, also when this fails on the way: it may have
 * threads or handlers by then.
 *
 * Returns 0; -ENOENT when there is no such library; -ELIBBAD when it cannot be loaded or is not
 * async-profiler. Then PROBLEM says so. */
int engine_library_open(struct engine_functions *functions, const char *library, char *problem);

/* INSIDE is in a library whose constructors run in this thread, which has just had a destructor registered.
 * If engine_library_open() is loading that library, it asks for variables in the copy of the environment from now
 * on (core/start_environment.h): it does so in its constructors too, while the program's other
 * threads may be changing theirs. Those register objects of C++ first, and the loader has bound the
 * library's imports by then. */
void async_profiler_on_library_constructor(const void *inside);

/* True when LIBRARY is not what it is without a setting. */
bool engine_library_is_configured(const char *library);

/* False where LIBRARY is not there: a look that takes some microseconds, as every program in which no
 * engine was chosen waits for it, and that may find one which engine_library_open() then does not. */
bool engine_library_is_likely(const char *library);

#endif
