/* Reader of OpenTelemetry's process context (OTEP 4719), which the program publishes in a
 * mapping of that name. Only the names of the attributes of thread contexts are used. The
 * agent's thread. */
#ifndef ENGINE_CONTEXT_PROCESS_CONTEXT_H
#define ENGINE_CONTEXT_PROCESS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/buf.h"

#define PROCESS_CONTEXT_MAX (64u << 10)

struct process_context {
	uintptr_t at;         /* address of the header; 0: not found */
	uint64_t published;   /* publication time of the known contents */
	struct buf keys;      /* strings, each with its NUL */
	uint16_t starts[256]; /* start of each string, plus one; 0: no name */
};

#define PROCESS_CONTEXT_INIT                          \
	{                                             \
		.keys = BUF_INIT(PROCESS_CONTEXT_MAX) \
	}

/* Find the mapping and read it. Returns 0, -ENOENT, or -errno. */
int process_context_find(struct process_context *context);

/* Like process_context_find(), with the text MAPS in the format of /proc/self/maps. */
int process_context_find_in(struct process_context *context, FILE *maps);

/* Parse the names in a message of SIZE bytes at PAYLOAD, which may be malformed. Returns 0 or
 * -ENOMEM. */
int process_context_parse(struct process_context *context, const uint8_t *payload, size_t size);

/* Read the context again if it has changed. Returns false if it does not exist, or not any more. */
bool process_context_refresh(struct process_context *context);

/* The name of attribute NUMBER, or NULL. */
const char *process_context_attribute_name(const struct process_context *context, uint8_t number);

#endif
