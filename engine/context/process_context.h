/* The process context of OpenTelemetry (OTEP 4719), which the program publishes in a mapping of that name: of
 * all that it tells, what the attributes of threads' contexts are called. The agent's thread. */
#ifndef ENGINE_CONTEXT_PROCESS_CONTEXT_H
#define ENGINE_CONTEXT_PROCESS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/buf.h"

#define PROCESS_CONTEXT_MAX (64u << 10)

struct process_context {
	uintptr_t at;         /* its header; 0: not found */
	uint64_t published;   /* what is known is from then */
	struct buf keys;      /* strings, each with its NUL */
	uint16_t starts[256]; /* of each, plus one; 0: not told */
};

#define PROCESS_CONTEXT_INIT                          \
	{                                             \
		.keys = BUF_INIT(PROCESS_CONTEXT_MAX) \
	}

/* Look for the mapping, and read it. Returns 0, -ENOENT, or -errno. */
int process_context_find(struct process_context *context);

/* Likewise by MAPS, text as in /proc/self/maps. */
int process_context_find_in(struct process_context *context, FILE *maps);

/* Take the names out of the SIZE bytes of a message at PAYLOAD, which may be anything. Returns 0 or -ENOMEM. */
int process_context_parse(struct process_context *context, const uint8_t *payload, size_t size);

/* Read it again if it has changed. False where it is not there, or not any more. */
bool process_context_refresh(struct process_context *context);

/* What the attribute NUMBER is called, or NULL. */
const char *process_context_attribute_name(const struct process_context *context, uint8_t number);

#endif
