/* Unmaps the attached host's side, whose agent has ended, from a running program. */
#ifndef ATTACH_TRACING_REMOVE_H
#define ATTACH_TRACING_REMOVE_H

#include "attach/tracing/tracee.h"

/* CONTEXT is a struct attached_range. First wait until no thread is in that memory. Returns 0; -EBUSY when a thread stays in
 * it: then it stays mapped; or another -errno. Not 0: with a description in TRACEE. */
int remove_agent(struct tracee *tracee, const void *context);

#endif
