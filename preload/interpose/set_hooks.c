/* Puts the agent's hooks in force. */
#include "preload/interpose/hooks.h"

#include "preload/interpose/thread.h"

const struct interpose_hooks *interpose_hooks;

int interpose_set_hooks(const struct interpose_hooks *hooks)
{
	int err = thread_key_create();

	__atomic_store_n(&interpose_hooks, hooks, __ATOMIC_RELEASE);
	return err;
}
