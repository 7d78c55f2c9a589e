/* The dynamic loader's list of modules, in the form for debuggers (r_debug in <link.h>). No lock of
 * the loader is taken: its owner may block for any reason, and a forked child might wait forever.
 * So the list may change during a read; a result is a list that was valid at one moment. Agent
 * thread only. */
#ifndef ENGINE_MODULES_LOADER_LIST_H
#define ENGINE_MODULES_LOADER_LIST_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/modules/module_image.h"

/* An entry of the loader's list. */
struct loader_node {
	uintptr_t address;
	struct link_map map;
};

struct loader_list {
	struct loader_node *nodes;
	struct image *images; /* one per module; without headers if these cannot be read */
	size_t count, room;
};

/* Fill LIST; the caller frees it, also on failure. Returns 0, -ENOMEM, -EAGAIN if the list changes
 * too fast, or -ENOSYS if the loader has no list for debuggers. */
int loader_list_read(struct loader_list *list);

/* Whether LIST still equals the loader's list. A module may still have been replaced by one of the
 * same name at the same address. */
bool loader_list_is_current(const struct loader_list *list);

/* Whether a module was added, always at the end of the list. The cost does not depend on the number of modules. */
bool loader_list_has_grown(const struct loader_list *list);

/* Free all parts of LIST that loader_list_is_current() and loader_list_has_grown() do not need. */
void loader_list_trim(struct loader_list *list);

void loader_list_free(struct loader_list *list);

#endif
