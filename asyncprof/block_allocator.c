/* Lock-free allocator for async-profiler's own memory.
 *
 * Blocks of 144 sizes are cut from a few mappings. Freed blocks are in one stack per size (R. K. Treiber, 1986). The
 * word before a block has its size and, in a free block, the address of the next one. */
#include "asyncprof/block_allocator.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/memory/region.h"
#include "core/system.h"

#define ALIGNMENT ((size_t)16)
#define WORD      sizeof(uint64_t)

/* Minimum size of a mapping. It also has at least a fourth of the bytes of all mappings, so that little is unused. */
#define MAPPING_BYTES ((size_t)1 << 20)
#define MAPPING_SHARE 4

/* Smallest block whose pages are returned to the kernel. */
#define LARGE_BYTES ((size_t)64 << 10)

/* Four sizes with a step of ALIGNMENT, then four for each doubling. */
#define STEPS     4u
#define SIZES     144u
#define BYTES_MAX ((size_t)1 << 40)

/* The first block follows; its word is the last member. */
struct mapping {
	struct mapping *older;
	size_t bytes, all_bytes; /* including older mappings */
	_Atomic size_t used;
	uint64_t unused, word;
};

_Static_assert(sizeof(struct mapping) % ALIGNMENT == 0, "blocks are aligned");

static _Atomic(struct mapping *) newest;

/* For each size the first free block, and in the upper bits a count of changes: it detects that a block was taken
 * and freed in between. A block's address has 48 bits, of which the last four are 0. */
static _Atomic uint64_t stacks[SIZES];

#define ADDRESS_BITS 44
#define ADDRESS_MASK (((uint64_t)1 << ADDRESS_BITS) - 1)
#define SIZE_SHIFT \
	56 /* of the size in a block's word; the lower bits are the address of the next block */

static _Atomic uint64_t *block_word(const char *block)
{
	return (_Atomic uint64_t *)(uintptr_t)(block - WORD);
}

static unsigned int block_size_index(const char *block)
{
	return (unsigned int)(atomic_load_explicit(block_word(block), memory_order_relaxed) >>
			      SIZE_SHIFT);
}

/* Return the bytes of a block with index SIZE, including its word: 16, 32, 48, 64, 80, 96, 112, 128, 160 and so on. */
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

/* Return the smallest size for BYTES, at most BYTES_MAX. */
static unsigned int size_index_for(size_t bytes)
{
	size_t steps = (bytes + WORD + ALIGNMENT - 1) / ALIGNMENT;
	unsigned int doublings = 0;

	if (steps <= STEPS)
		return (unsigned int)steps - 1;
	/* 5 to 8 steps, each twice as large as in the last iteration */
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
		/* (If another thread has taken the block, this may be any value; then the exchange fails.) */
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
	region_mark(mapping, bytes, REGION_ENGINE);
	mapping->older = older;
	mapping->bytes = bytes;
	mapping->all_bytes = all + bytes;
	atomic_init(&mapping->used, sizeof(*mapping));
	if (!atomic_compare_exchange_strong(&newest, &older, mapping))
		system_unmap(mapping, bytes); /* another thread was faster */
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

/* Set *IS_CLEAN when the block is zeroed. */
static char *block_get(size_t bytes, bool *is_clean)
{
	unsigned int size;
	char *block = NULL;

	*is_clean = false;
	if (bytes < BYTES_MAX) {
		size = size_index_for(bytes);
		block = block_pop(size);
		*is_clean = !block;
		if (!block)
			block = block_cut(size);
	}
	if (!block)
		errno = ENOMEM;
	return block;
}

void *block_allocate(size_t bytes)
{
	bool is_clean;

	return block_get(bytes, &is_clean);
}

/* Set *FIRST and *END to the whole pages of BLOCK, of BYTES; to its end when there are none. */
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
	bool is_clean;

	if (__builtin_mul_overflow(count, bytes, &bytes))
		bytes = BYTES_MAX;
	block = block_get(bytes, &is_clean);
	if (!block || is_clean)
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
	size_t capacity = block_capacity(block);
	void *other;

	if (bytes <= capacity && bytes >= capacity / 2)
		return block;
	other = block_allocate(bytes);
	if (!other)
		return NULL;
	memcpy(other, block, bytes < capacity ? bytes : capacity);
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
