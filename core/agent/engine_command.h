/* Commands to an engine, and what it prints in answer. The agent thread's alone. */
#ifndef CORE_AGENT_ENGINE_COMMAND_H
#define CORE_AGENT_ENGINE_COMMAND_H

#include <stdint.h>

#include "core/agent/engine.h"

/* Run COMMAND. What the engine prints goes to the log, a line at a time.
 * Returns 0, or -EIO with failure() saying why. */
int engine_command(const struct engine *engine, const char *command);

/* Likewise, for an answer that is wanted and not logged; it is kept for the calls below until the
 * next command. */
int engine_ask(const struct engine *engine, const char *question);

/* The first line of the answer, of LENGTH bytes and not NUL-terminated; NULL without memory. */
const char *engine_answer_line(size_t *length);

/* The number on the line "NAME number" of the answer; 0 where there is no such line. */
uint64_t engine_answer_number(const char *name);

/* Give back the memory of the answer. */
void engine_answer_free(void);

/* Before the first question, and in a forked child, where another thread may have been writing it: there
 * is none yet. */
void engine_answer_forget(void);

#endif
