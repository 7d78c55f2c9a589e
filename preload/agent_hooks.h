/* The agent's implementation of the interposers' hooks. */
#ifndef PRELOAD_AGENT_HOOKS_H
#define PRELOAD_AGENT_HOOKS_H

#include "preload/interpose/hooks.h"

extern const struct interpose_hooks agent_hooks;

/* Reset the state in a forked child. */
void agent_hooks_reset_in_child(void);

#endif
