/* Who watches for stalls of event loops: a thread that looks at their turns (engine/sample/loop_iterations.h). */
#ifndef ENGINE_COLLECT_STALL_WATCH_H
#define ENGINE_COLLECT_STALL_WATCH_H

#include "core/agent/equipment.h"

extern const struct stall_watch stall_watch;

#endif
