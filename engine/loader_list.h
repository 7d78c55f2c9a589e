/* The dynamic loader's list of modules. The calls are the agent thread's.
 *
 * Nothing is allocated while the loader's lock is held: an allocator may walk stacks under a lock of
 * its own, as tcmalloc does where its heap grows, and that walk waits for the loader's. Nor does
 * another thread fork then: its child would never get that lock. */
#ifndef ENGINE_LOADER_LIST_H
#define ENGINE_LOADER_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/image.h"

/* How many modules ever came and went: another list has other counts. */
struct loader_counts {
	unsigned long long adds, subs; /* both 0: this loader does not count */
};

struct loader_list {
	struct image *images; /* their paths are the loader's names, and the list's */
	size_t count;
	char *names;
	size_t image_room, name_room; /* what IMAGES and NAMES have */
};

/* Once, before the others. Returns 0 or -errno. */
int loader_list_init(void);

struct loader_counts loader_list_counts(void);

/* Fill LIST, which is the caller's to free whatever comes. Returns 0 or -ENOMEM. */
int loader_list_read(struct loader_list *list);
void loader_list_free(struct loader_list *list);

#endif
