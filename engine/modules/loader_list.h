/* The dynamic loader's list of modules, as it has it for debuggers (r_debug in <link.h>). None of
 * the loader's locks is taken: who holds one may be waiting for anything, and the child of a fork
 * would never get it. So the list may change while it is read; what is returned was all there at
 * one moment. The calls are the agent thread's. */
#ifndef ENGINE_MODULES_LOADER_LIST_H
#define ENGINE_MODULES_LOADER_LIST_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/modules/module_image.h"

/* An entry of the loader's. */
struct loader_node {
	uintptr_t address;
	struct link_map map;
};

struct loader_list {
	struct loader_node *nodes;
	struct image *images; /* of each; without headers where these cannot be read */
	size_t count, room;
};

/* Fill LIST, which is the caller's to free whatever comes. Returns 0, -ENOMEM, -EAGAIN when it
 * changes too fast, or -ENOSYS where the loader has none for debuggers. */
int loader_list_read(struct loader_list *list);

/* True when LIST is still what the loader has. A module may have been replaced by one of the same
 * name at the same place. */
bool loader_list_is_current(const struct loader_list *list);

/* True when a module came, as it does behind all others. Takes as long for many as for one. */
bool loader_list_has_grown(const struct loader_list *list);

/* Keep no more of LIST than these two need. */
void loader_list_trim(struct loader_list *list);

void loader_list_free(struct loader_list *list);

#endif
