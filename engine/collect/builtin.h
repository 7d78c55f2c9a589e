/* The builtin engine: what async-profiler does for native programs, from within the preload. */
#ifndef ENGINE_COLLECT_BUILTIN_H
#define ENGINE_COLLECT_BUILTIN_H

#include "core/agent/engine.h"
#include "core/wake.h"

/* Two rings hold a tenth of a second of 100 threads that each run 60 frames deep at 10 ms. */
#define BUILTIN_RINGS      2
#define BUILTIN_RING_BYTES (256u << 10)

/* The engine; there is one in a process. COLLECTOR is woken when samples wait. */
const struct engine *builtin_engine(struct wake *collector);

/* The same, to look at the threads now and then beside another engine, which takes the samples. */
const struct engine *builtin_engine_to_look(struct wake *collector);

/* The same, to sample native memory alone, for chunks that are put beside those of another engine. */
const struct engine *builtin_engine_beside(struct wake *collector);

#endif
