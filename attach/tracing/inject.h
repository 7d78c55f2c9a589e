/* Maps the attached host's side into a running program, and starts its thread there. */
#ifndef ATTACH_TRACING_INJECT_H
#define ATTACH_TRACING_INJECT_H

#include <sys/types.h>

#include "attach/tracing/tracee.h"

struct inject_request {
	pid_t pid;
	const char *payload;   /* path of libasprof_attach.so */
	char *const *settings; /* "ASPROF_AGENT_NAME=value", NULL-terminated */
};

/* CONTEXT is a struct inject_request of the tracee. Returns 0 when the thread runs. Otherwise returns -errno with a description
 * in TRACEE, and the program is as before. -EALREADY: it has an agent. One command at a time may call it for a process. */
int inject_agent(struct tracee *tracee, const void *context);

#endif
