/* The agent of this process, as the constructor, the hooks and the C interface see it. */
#ifndef PRELOAD_AGENT_OF_PROCESS_H
#define PRELOAD_AGENT_OF_PROCESS_H

#include "core/options.h"

/* The settings; NULL when the process is not one to profile, as they say or as they are wrong. */
const struct config *process_config(void);

/* Start the agent thread. Returns 0 or -errno. */
int process_start_agent(void);

#endif
