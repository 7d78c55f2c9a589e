/* Commands to an engine. The agent thread's alone. */
#ifndef CORE_AGENT_ENGINE_COMMAND_H
#define CORE_AGENT_ENGINE_COMMAND_H

#include "core/agent/engine.h"

/* Have ENGINE carry out COMMAND. *ANSWER is what it prints, cut at 8 KiB: the caller's to write to, until the
 * next call of either function here. Returns what the engine does. */
asprof_error_t engine_ask(const struct engine *engine, const char *command, char **answer);

/* Run COMMAND. What the engine prints goes to the log, a line at a time.
 * Returns 0, or -EIO with failure() saying why. */
int engine_command(const struct engine *engine, const char *command);

#endif
