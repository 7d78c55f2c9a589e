/* System calls that a stopped thread makes by code of the tracer in the program's memory. That code restores the thread if
 * the tracer ends meanwhile; a call by the vDSO would lose the program then. */
#ifndef ATTACH_TRACING_OWN_CODE_H
#define ATTACH_TRACING_OWN_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/tracing/tracee.h"

/* The code with its signal frame, in whole pages. */
#define OWN_CODE_BYTES \
	((REMOTE_FRAME_OFFSET + REMOTE_FRAME_MAX + STOPPED_PAGE - 1) / STOPPED_PAGE * STOPPED_PAGE)

/* Write the code for TRACEE's thread to START, where the program has OWN_CODE_BYTES of executable memory. Returns 0 or
 * -errno. */
int own_code_write(const struct tracee *tracee, uintptr_t start);

/* Then: set CALLER to TRACEE's thread as one that makes calls by the code, and block its signals. False if the thread is
 * gone. */
bool own_code_enter(const struct tracee *tracee, uintptr_t start, struct stopped *caller);

#endif
