/* The agent of this process, as the constructor, the hooks and the C interface see it. */
#ifndef PRELOAD_AGENT_OF_PROCESS_H
#define PRELOAD_AGENT_OF_PROCESS_H

#include "core/options/config.h"

/* Start the agent thread. Returns 0, or -errno as agent_start() has it; -EPERM when this process is
 * not one to profile, as the settings say or as they are wrong. */
int process_start_agent(void);

/* The settings, as far as they were read. Async-signal-safe. */
const struct config *process_config(void);

#endif
