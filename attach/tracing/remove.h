/* Unmaps the attached host's side, whose agent has ended, from a running program. */
#ifndef ATTACH_TRACING_REMOVE_H
#define ATTACH_TRACING_REMOVE_H

#include "attach/tracing/tracee.h"

/* CONTEXT points to a struct attached_range (core/shared.h), the memory to unmap. First wait, at most 10 s, until no
 * thread is in that memory.
 *
 * Returns 0; -EBUSY when a thread is still in it (it stays mapped); or another -errno. Errors have a description in
 * TRACEE. */
int remove_agent(struct tracee *tracee, const void *context);

#endif
