/* Memory that a walk follows pointers through, as the kernel copied it: each part once in a walk, and what
 * the walk before it in the same thread has read in a single call, as the next one mostly reads the same.
 * So no read can fault, and most take no call. Async-signal-safe. */
#ifndef ENGINE_READING_MEMORY_COPIES_H
#define ENGINE_READING_MEMORY_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "engine/reading/memory_reader.h"

/* Pages that are held at once; a walk that meets more has others read again. */
#define MEMORY_COPIES_PAGES 64

/* What is asked for by itself: a call takes as long for a page as for a word, but copying it costs. Of a
 * page that is met a second time the rest follows. */
#define MEMORY_COPIES_PART (MEMORY_PAGE / 4)

/* Room for one walk, for which a handler's stack is too small. */
struct memory_copies {
	pid_t self;               /* 0: not asked for yet */
	unsigned int count, next; /* pages that are there; which one goes first */
	unsigned int calls;
	uintptr_t pages[MEMORY_COPIES_PAGES];
	uint8_t there[MEMORY_COPIES_PAGES], read[MEMORY_COPIES_PAGES]; /* a bit for each part */
	uint8_t places[64]; /* where a page probably is */
	struct iovec from[MEMORY_COPIES_PAGES], to[MEMORY_COPIES_PAGES];
	uint8_t bytes[MEMORY_COPIES_PAGES][MEMORY_PAGE];
};

/* A walk begins, in a thread that WHO tells from others; 0: nothing is guessed. What was read before is read
 * anew. */
void memory_copies_begin(struct memory_copies *copies, uintptr_t who);

/* Read SIZE bytes at ADDRESS. False when they cannot all be read. */
bool memory_copies_read(struct memory_copies *copies, void *data, uintptr_t address, size_t size);

/* The walk ends. */
void memory_copies_end(struct memory_copies *copies, uintptr_t who);

#endif
