/* Signals that widely used libraries take without checking whether they are free.
 *
 * A library may be loaded long after the agent has chosen its signals. The agent therefore never
 * chooses these, in any program. */
#ifndef ENGINE_SAMPLE_LIBRARY_SIGNALS_H
#define ENGINE_SAMPLE_LIBRARY_SIGNALS_H

#include <stdbool.h>

/* True when a library takes SIGNO. Async-signal-safe, after start_environment_capture(). */
bool signal_is_of_library(int signo);

#endif
