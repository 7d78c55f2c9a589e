/* The builtin engine: samples native programs as async-profiler does, from within the preload. */
#ifndef ENGINE_COLLECT_BUILTIN_H
#define ENGINE_COLLECT_BUILTIN_H

#include "core/agent/engine.h"
#include "core/wake.h"

/* The builtin engine; a process has one. Samples that wait wake COLLECTOR. */
const struct engine *builtin_engine(struct wake *collector);

/* The same engine if another engine takes the samples: takes the stacks of all threads from time to
 * time. */
const struct engine *builtin_engine_to_look(struct wake *collector);

/* The same engine for native memory only; its chunks are merged with those of another engine. */
const struct engine *builtin_second_engine(struct wake *collector);

#endif
