/* Commands to an engine. The agent thread's alone. */
#ifndef CORE_AGENT_ENGINE_COMMAND_H
#define CORE_AGENT_ENGINE_COMMAND_H

#include "core/agent/engine.h"

/* Run COMMAND. What the engine prints goes to the log, a line at a time.
 * Returns 0, or -EIO with failure() saying why. */
int engine_command(const struct engine *engine, const char *command);

#endif
