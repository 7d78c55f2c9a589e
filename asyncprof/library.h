/* async-profiler as an engine, by dlopen(3). */
#ifndef ASYNCPROF_LIBRARY_H
#define ASYNCPROF_LIBRARY_H

#include "core/agent/engine.h"

/* Room for any problem that library_open() describes. */
#define LIBRARY_PROBLEM_MAX 1024

/* Open LIBRARY, a soname or an absolute path, and fill in ENGINE from it; init is left to the
 * caller. The library stays in the process for ever, also when this fails on the way: it may have
 * threads or handlers by then.
 *
 * Returns 0; -ENOENT when there is no such library; -ELIBBAD when it cannot be loaded or is not
 * async-profiler. Then PROBLEM says so. */
int library_open(struct engine *engine, const char *library, char *problem);

#endif
