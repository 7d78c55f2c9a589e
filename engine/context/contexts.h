/* Finds where threads of this program publish their context (OTEP 4947), and the names of its
 * attributes (OTEP 4719). The agent's thread. */
#ifndef ENGINE_CONTEXT_CONTEXTS_H
#define ENGINE_CONTEXT_CONTEXTS_H

#include <stdint.h>

/* Search new modules for the variable; call it when modules were loaded or unloaded, and once at
 * the start. */
void contexts_search_modules(void);

/* Retry unresolved variables and update names, periodically; NOW_NS is the current time. Does
 * nothing in a program without the variable. */
void contexts_update(uint64_t now_ns);

/* The name of attribute NUMBER; NULL if it is not published. Valid until the next call of this
 * function or of contexts_update(). */
const char *contexts_attribute_name(uint8_t number);

#endif
