/* What the agent does when the interposers tell it something. */
#ifndef PRELOAD_AGENT_HOOKS_H
#define PRELOAD_AGENT_HOOKS_H

#include "preload/interpose/hooks.h"

extern const struct interpose_hooks agent_hooks;

/* In a forked child: what other threads of its parent's were about to do is not done here. */
void agent_hooks_reset_in_child(void);

#endif
