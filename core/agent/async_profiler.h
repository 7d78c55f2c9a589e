/* async-profiler's thread in this process. */
#ifndef CORE_AGENT_ASYNC_PROFILER_H
#define CORE_AGENT_ASYNC_PROFILER_H

#include "core/options/config.h"

/* Start it where CONFIG may have async-profiler (asyncprof/engine_thread.h). */
void async_profiler_start(const struct config *config);

#endif
