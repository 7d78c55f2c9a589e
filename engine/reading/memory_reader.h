/* Fault-free reads of this process's memory, which another thread may unmap at any moment. Memory
 * that is known to stay mapped is read in place. The kernel copies the rest in blocks, by a call
 * that fails where a load would fault. Async-signal-safe. */
#ifndef ENGINE_READING_MEMORY_READER_H
#define ENGINE_READING_MEMORY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "engine/reading/walk_budget.h"

#define MEMORY_PAGE ((uintptr_t)4096)

/* Size of a copied block. A call takes as long for a page as for a word, but a handler has little
 * stack. Blocks are aligned, so that a block is readable completely or not at all. */
#define MEMORY_BLOCK ((uintptr_t)256)
/* Maximum number of copies into one block. */
#define MEMORY_COPIES_MAX 4096

/* Buffer of one thread, for one walk or one lookup. */
struct memory_block {
	uintptr_t address; /* source address of BYTES; 0: empty */
	unsigned copies;
	pid_t self;                 /* id of the thread that owns the block; 0: not read yet */
	struct walk_budget *budget; /* budget of the copies; NULL: none */
	uint8_t bytes[MEMORY_BLOCK];
};

static inline void memory_block_init(struct memory_block *block)
{
	block->address = 0;
	block->copies = 0;
	block->self = 0;
	block->budget = NULL;
}

/* Copies of a reader share the block. */
struct memory_reader {
	uintptr_t low, high; /* range that is known to stay mapped; both 0: none */
	uintptr_t next;      /* next page, which also stays mapped if it is readable now; 0: none */
	bool distrusted;     /* NEXT is not used any more */
	struct memory_block *block;
};

/* Later addresses may be wrong guesses: stop using NEXT, and the range that was found by it. */
static inline void memory_reader_distrust(struct memory_reader *reader)
{
	reader->distrusted = true;
	if (reader->next)
		reader->low = reader->high = reader->next = 0;
}

/* Read SIZE bytes at ADDRESS. Returns false if some cannot be read. */
bool memory_read(struct memory_reader *reader, void *data, uintptr_t address, size_t size);

/* Read a word; LOW and HIGH are multiples of its size. */
static inline bool memory_read_word(struct memory_reader *reader, uintptr_t address,
				    uintptr_t *value)
{
	if (__builtin_expect(address - reader->low >= reader->high - reader->low, 0))
		return memory_read(reader, value, address, sizeof(*value));
	*value = *(const volatile uintptr_t *)address;
	return true;
}

/* Read the string at ADDRESS, at most SIZE - 1 bytes. Returns false when it is longer, or partly
 * unreadable; TEXT then has the bytes before. */
bool memory_read_string(struct memory_reader *reader, char *text, size_t size, uintptr_t address);

/* Copy SIZE bytes at ADDRESS, which are known to stay mapped. */
void memory_take(void *data, uintptr_t address, size_t size);

/* Like memory_read() without a reader, for at most a page that is read once. */
bool memory_copy(void *data, uintptr_t address, size_t size);

/* Copy the readable part of SIZE bytes. Returns its length, or -errno if a sandbox refuses the
 * call, or -EFAULT if the first byte cannot be read. */
long memory_copy_available(void *data, uintptr_t address, size_t size);

/* Like memory_copy_available(), from COUNT places of SIZE bytes in total, consecutively to DATA. */
long memory_copy_places(void *data, size_t size, const struct iovec *places, size_t count);

/* True when the byte at ADDRESS can be read now. */
bool memory_probe(uintptr_t address);

/* True when the instruction at CODE is a system call. Running code need not be readable: a JIT
 * compiler may map it for execution only. */
bool memory_is_system_call(uintptr_t code);

/* True if CONTEXT was interrupted in a system call, or just after an interrupted one. The kernel
 * sets the pc back to the call if it will restart it. Otherwise it leaves the pc after the call,
 * with EINTR. */
bool memory_is_in_system_call(const ucontext_t *context);

#endif
