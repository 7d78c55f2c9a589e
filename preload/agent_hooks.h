/* What the agent does when the interposers tell it something. */
#ifndef PRELOAD_AGENT_HOOKS_H
#define PRELOAD_AGENT_HOOKS_H

#include "preload/interpose/hooks.h"

extern const struct interpose_hooks agent_hooks;

#endif
