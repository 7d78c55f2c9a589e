/* async-profiler's own memory: blocks of some 140 sizes, cut from few mappings one after the other. Those given back
 * stand in a stack for each size (R. K. Treiber's, 1986); the word before a block has its size, and there the next one. */
#include "asyncprof/block_allocator.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/system.h"

#define ALIGNMENT ((size_t)16)
#define WORD      sizeof(uint64_t)

/* What a mapping has at least; and of all that are there already a fourth, so that little of them is unused ever. */
#define MAPPING_BYTES ((size_t)1 << 20)
#define MAPPING_SHARE 4

/* Blocks from this on give their pages back. */
#define LARGE_BYTES ((size_t)64 << 10)

/* Sizes: four, of a step of ALIGNMENT, then four to each doubling. */
#define STEPS     4u
#define SIZES     144u
#define BYTES_MAX ((size_t)1 << 40)

/* The first block follows, its word is the last one here. */
struct mapping {
	struct mapping *older;
	size_t bytes, all_bytes; /* with those that are older */
	_Atomic size_t used;
	uint64_t unused, word;
};

_Static_assert(sizeof(struct mapping) % ALIGNMENT == 0, "blocks are aligned");

static _Atomic(struct mapping *) newest;

/* Of each size: which block is the first, and above that how often another one was, so that one that came back is not
 * taken for one that stayed. A block's address has 48 bits, and the last four are 0. */
static _Atomic uint64_t stacks[SIZES];

#define ADDRESS_BITS 44
#define ADDRESS_MASK (((uint64_t)1 << ADDRESS_BITS) - 1)
#define SIZE_SHIFT   56 /* in a block's word, whose lower bits are the address of the next one */

static _Atomic uint64_t *block_word(const char *block)
{
	return (_Atomic uint64_t *)(uintptr_t)(block - WORD);
}

static unsigned int block_size_index(const char *block)
{
	return (unsigned int)(atomic_load_explicit(block_word(block), memory_order_relaxed) >>
			      SIZE_SHIFT);
}

/* What a block of SIZE takes, with its word: 16, 32, 48, 64, 80, 96, 112, 128, 160 and so on. */
static size_t size_index_bytes(unsigned int size)
{
	if (size < STEPS)
		return ALIGNMENT * (size + 1);
	return (ALIGNMENT << (size / STEPS - 1)) * (STEPS + size % STEPS + 1);
}

static size_t block_capacity(const char *block)
{
	return size_index_bytes(block_size_index(block)) - WORD;
}

/* The smallest with room for BYTES, at most BYTES_MAX. */
static unsigned int size_index_for(size_t bytes)
{
	size_t steps = (bytes + WORD + ALIGNMENT - 1) / ALIGNMENT;
	unsigned int doublings = 0;

	if (steps <= STEPS)
		return (unsigned int)steps - 1;
	/* 5 to 8 of steps that are twice as large each time */
	while ((steps - 1) >> doublings >= 2 * STEPS)
		doublings++;
	return doublings * STEPS + (unsigned int)((steps - 1) >> doublings);
}

static char *block_pop(unsigned int size)
{
	uint64_t first = atomic_load(&stacks[size]), next;
	char *block;

	do {
		block = (char *)(uintptr_t)((first & ADDRESS_MASK) * ALIGNMENT);
		if (!block)
			return NULL;
		/* (Where somebody else has taken it by now this is anything, and does not count.) */
		next = atomic_load_explicit(block_word(block), memory_order_relaxed) & ADDRESS_MASK;
		next |= (first & ~ADDRESS_MASK) + ADDRESS_MASK + 1;
	} while (!atomic_compare_exchange_weak(&stacks[size], &first, next));
	atomic_store_explicit(block_word(block), (uint64_t)size << SIZE_SHIFT,
			      memory_order_relaxed);
	return block;
}

static bool mapping_add(struct mapping *older, size_t wanted)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), all = older ? older->all_bytes : 0;
	size_t bytes = all / MAPPING_SHARE;
	struct mapping *mapping;

	wanted += sizeof(*mapping);
	bytes = bytes > MAPPING_BYTES ? bytes : MAPPING_BYTES;
	bytes = ((bytes > wanted ? bytes : wanted) + page_bytes - 1) & -page_bytes;
	mapping = system_map(bytes);
	if (!mapping)
		return false;
	mapping->older = older;
	mapping->bytes = bytes;
	mapping->all_bytes = all + bytes;
	atomic_init(&mapping->used, sizeof(*mapping));
	if (!atomic_compare_exchange_strong(&newest, &older, mapping))
		system_unmap(mapping, bytes); /* somebody else has */
	return true;
}

static char *mapping_cut(struct mapping *mapping, unsigned int size)
{
	size_t used = mapping ? atomic_load(&mapping->used) : 0, bytes = size_index_bytes(size);
	char *block;

	if (!mapping)
		return NULL;
	do {
		if (mapping->bytes - used < bytes)
			return NULL;
	} while (!atomic_compare_exchange_weak(&mapping->used, &used, used + bytes));
	block = (char *)mapping + used;
	atomic_store_explicit(block_word(block), (uint64_t)size << SIZE_SHIFT,
			      memory_order_relaxed);
	return block;
}

static char *block_cut(unsigned int size)
{
	struct mapping *mapping;
	char *block;

	do {
		mapping = atomic_load(&newest);
		block = mapping_cut(mapping, size);
	} while (!block && mapping_add(mapping, size_index_bytes(size)));
	return block;
}

/* *CLEAN: it is zero. */
static char *block_get(size_t bytes, bool *clean)
{
	unsigned int size;
	char *block = NULL;

	*clean = false;
	if (bytes < BYTES_MAX) {
		size = size_index_for(bytes);
		block = block_pop(size);
		*clean = !block;
		if (!block)
			block = block_cut(size);
	}
	if (!block)
		errno = ENOMEM;
	return block;
}

void *block_allocate(size_t bytes)
{
	bool clean;

	return block_get(bytes, &clean);
}

/* The whole pages of BLOCK, which has BYTES; none: *FIRST and *END are its end. */
static void block_find_pages(char *block, size_t bytes, char **first, char **end)
{
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)block;

	*first = *end = block + bytes;
	if (bytes < LARGE_BYTES)
		return;
	*first = block + (-start & (page_bytes - 1));
	*end -= (start + bytes) & (page_bytes - 1);
}

void *block_allocate_zeroed(size_t count, size_t bytes)
{
	char *block, *first, *end;
	bool clean;

	if (__builtin_mul_overflow(count, bytes, &bytes))
		bytes = BYTES_MAX;
	block = block_get(bytes, &clean);
	if (!block || clean)
		return block;
	block_find_pages(block, block_capacity(block), &first, &end);
	memset(block, 0, (size_t)(first - block));
	memset(end, 0, (size_t)(block + block_capacity(block) - end));
	return block;
}

char *block_copy_text(const char *text, size_t max)
{
	size_t length = strnlen(text, max);
	char *copy = block_allocate(length + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

void *block_resize(void *block, size_t bytes)
{
	size_t room = block_capacity(block);
	void *other;

	if (bytes <= room && bytes >= room / 2)
		return block;
	other = block_allocate(bytes);
	if (!other)
		return NULL;
	memcpy(other, block, bytes < room ? bytes : room);
	block_free(block);
	return other;
}

void block_free(void *block)
{
	unsigned int size = block_size_index(block);
	char *first_page, *end;
	uint64_t first, ours = (uint64_t)(uintptr_t)block / ALIGNMENT;

	block_find_pages(block, block_capacity(block), &first_page, &end);
	if (end > first_page)
		system_empty(first_page, (size_t)(end - first_page));
	first = atomic_load(&stacks[size]);
	do {
		atomic_store_explicit(block_word(block),
				      (uint64_t)size << SIZE_SHIFT | (first & ADDRESS_MASK),
				      memory_order_relaxed);
	} while (!atomic_compare_exchange_weak(&stacks[size], &first,
					       (first & ~ADDRESS_MASK) | ours));
}

bool block_is_ours(const void *block)
{
	for (const struct mapping *m = atomic_load(&newest); m; m = m->older)
		if ((uintptr_t)block - (uintptr_t)m < m->bytes)
			return true;
	return false;
}
