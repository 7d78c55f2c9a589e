/* The stall watcher: a thread that checks event-loop iterations (engine/sample/loop_iterations.h). */
#ifndef ENGINE_COLLECT_STALL_WATCH_H
#define ENGINE_COLLECT_STALL_WATCH_H

#include "core/agent/equipment.h"

extern const struct stall_watch stall_watch;

#endif
