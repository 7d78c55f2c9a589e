/* Reads memory of this process that may be anything, and gone at any moment, as another thread may
 * unmap it. What is known to stay is read where it is; the kernel copies the rest, a block at a
 * time, by a call that fails where a load would fault. Async-signal-safe. */
#ifndef ENGINE_READING_MEMORY_READER_H
#define ENGINE_READING_MEMORY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "arch/code.h"

#define MEMORY_PAGE ((uintptr_t)4096)

/* A call takes as long for a page as for a word, but a handler has little stack. Blocks are aligned,
 * so that none is readable in part. */
#define MEMORY_BLOCK ((uintptr_t)256)
/* How many copies one block is made in turn at most. */
#define MEMORY_COPIES_MAX 4096

/* It is one thread's, for one walk or one look. */
struct memory_block {
	uintptr_t address; /* where what BYTES holds is from; 0: nowhere yet */
	unsigned copies;
	pid_t self; /* the thread that has it; 0: not asked for yet */
	uint8_t bytes[MEMORY_BLOCK];
};

static inline void memory_block_init(struct memory_block *block)
{
	block->address = 0;
	block->copies = 0;
	block->self = 0;
}

/* Copies of it share the block. */
struct memory_reader {
	uintptr_t low, high; /* known to stay; both 0: nothing is */
	uintptr_t next;      /* the page that stays as well, if it is there; 0: none */
	bool doubted;        /* there is no NEXT from now on */
	struct memory_block *block;
};

/* What is read next may be anywhere: trust no more than what is known without a NEXT. */
static inline void memory_reader_distrust(struct memory_reader *reader)
{
	reader->doubted = true;
	if (reader->next)
		reader->low = reader->high = reader->next = 0;
}

/* Read SIZE bytes at ADDRESS. False when they cannot all be read. */
bool memory_read(struct memory_reader *reader, void *data, uintptr_t address, size_t size);

/* Likewise a word, of which LOW and HIGH are multiples. */
static inline bool memory_read_word(struct memory_reader *reader, uintptr_t address,
				    uintptr_t *value)
{
	if (__builtin_expect(address - reader->low >= reader->high - reader->low, 0))
		return memory_read(reader, value, address, sizeof(*value));
	*value = *(const volatile uintptr_t *)address;
	return true;
}

/* Read the string at ADDRESS, cut to SIZE - 1 bytes. False when it is longer, or cannot all be read:
 * then TEXT has what comes before. */
bool memory_read_string(struct memory_reader *reader, char *text, size_t size, uintptr_t address);

/* Copy SIZE bytes at ADDRESS, which are known to stay. */
void memory_take(void *data, uintptr_t address, size_t size);

/* The same as memory_read() without a reader, for no more than a page that is met once. */
bool memory_copy(void *data, uintptr_t address, size_t size);

/* Copy what can be copied of SIZE bytes. Returns how many, or -errno where a sandbox refuses the
 * call, or -EFAULT when the first cannot be read. */
long memory_copy_available(void *data, uintptr_t address, size_t size);

/* Likewise from COUNT places, of SIZE bytes together, one after another to DATA. */
long memory_copy_places(void *data, size_t size, const struct iovec *places, size_t count);

/* True when the byte at ADDRESS can be read now. */
bool memory_probe(uintptr_t address);

#endif
