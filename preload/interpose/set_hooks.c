/* Sets the agent's hooks. */
#include "preload/interpose/hooks.h"

const struct interpose_hooks *interpose_hooks;

void interpose_set_hooks(const struct interpose_hooks *hooks)
{
	__atomic_store_n(&interpose_hooks, hooks, __ATOMIC_RELEASE);
}
