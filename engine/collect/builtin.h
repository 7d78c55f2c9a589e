/* The builtin engine: what async-profiler does for native programs, from within the preload. */
#ifndef ENGINE_COLLECT_BUILTIN_H
#define ENGINE_COLLECT_BUILTIN_H

#include "core/agent/engine.h"
#include "core/wake.h"

/* The engine; there is one in a process. COLLECTOR is woken when samples wait. */
const struct engine *builtin_engine(struct wake *collector);

/* The same, to sample native memory alone, for chunks that are put beside those of another engine. */
const struct engine *builtin_engine_beside(struct wake *collector);

#endif
