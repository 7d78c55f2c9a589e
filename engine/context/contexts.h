/* Where threads of this program publish what they work on (OTEP 4947), and what the attributes in it are called
 * (OTEP 4719). The agent's thread. */
#ifndef ENGINE_CONTEXT_CONTEXTS_H
#define ENGINE_CONTEXT_CONTEXTS_H

#include <stdint.h>

/* Modules came or went, or none was looked at yet: look for the variable among them. */
void contexts_search_modules(void);

/* Now and then, at NOW_NS: what could not be told yet, and what has changed. Nothing in a program that has no
 * such variable. */
void contexts_update(uint64_t now_ns);

/* What the attribute NUMBER is called; NULL where that is told nowhere. Valid until the next call of either. */
const char *contexts_attribute_name(uint8_t number);

#endif
