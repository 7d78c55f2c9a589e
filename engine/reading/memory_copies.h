/* Cache of memory that a walk of an interpreter's data reads, so the kernel copies most parts once
 * per walk. One call prefetches what the previous walk in the same thread has read, because consecutive
 * walks mostly read the same pages. So no read can fault, and most reads take no system call.
 * Async-signal-safe. */
#ifndef ENGINE_READING_MEMORY_COPIES_H
#define ENGINE_READING_MEMORY_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "engine/reading/memory_reader.h"

/* Maximum number of cached pages; a walk that reads more reads some of them again. */
#define MEMORY_COPIES_PAGES 64

/* Unit of a first read: a call takes as long for a page as for a word, but copying has a cost. The
 * second read of a page gets all of it. */
#define MEMORY_COPIES_PART (MEMORY_PAGE / 4)

/* State of one walk; too large for a handler's stack. */
struct memory_copies {
	pid_t self;               /* thread id; 0: not read yet */
	unsigned int count, next; /* number of cached pages; the index that is replaced next */
	unsigned int calls;
	struct walk_budget *budget; /* budget of the copies; NULL: none */
	uintptr_t pages[MEMORY_COPIES_PAGES];
	uint8_t there[MEMORY_COPIES_PAGES]; /* parts that were copied, one bit for each */
	uint8_t read[MEMORY_COPIES_PAGES];  /* parts that the walk has used */
	uint8_t places[64];                 /* hash table of page indexes, as hints */
	struct iovec from[MEMORY_COPIES_PAGES], to[MEMORY_COPIES_PAGES];
	uint8_t bytes[MEMORY_COPIES_PAGES][MEMORY_PAGE];
};

/* Empty the cache at the start of a walk, or later. WHO identifies the thread, whose last pages are prefetched; 0: no
 * prefetching. */
void memory_copies_begin(struct memory_copies *copies, uintptr_t who);

/* Read SIZE bytes at ADDRESS. Returns false if some cannot be read, or BUDGET or the
 * limit of calls is used up. */
bool memory_copies_read(struct memory_copies *copies, void *data, uintptr_t address, size_t size);

/* End the walk, and record its pages for the thread's next one. */
void memory_copies_end(struct memory_copies *copies, uintptr_t who);

#endif
