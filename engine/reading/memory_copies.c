/* Copies of memory for one walk, with prefetching. */
#include "engine/reading/memory_copies.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/kernel.h"

/* Pages that the last walk of a thread has read: addresses, with the parts in the low bits. Threads
 * may share an entry and write it at the same time, because it is only a hint. */
#define GUESSES       64
#define GUESSED_PAGES 56
#define PARTS         ((uintptr_t)15)

/* Cost of a read without a system call, in words of the budget. */
#define READ_WORDS 16

_Static_assert(MEMORY_COPIES_PART * 4 == MEMORY_PAGE,
	       "a bit for each part, of which there are four");

static _Atomic uintptr_t guesses[GUESSES][GUESSED_PAGES];

static _Atomic uintptr_t *guesses_for_thread(uintptr_t who)
{
	return guesses[(who * 0x9e3779b97f4a7c15u) >> 58];
}

_Static_assert(GUESSES == 1 << (64 - 58), "as many as the shift leaves");

/* The offset within the page, and in *SIZE the length, of the range from the first to the last of
 * PARTS. */
static size_t parts_span(uintptr_t parts, size_t *size)
{
	size_t first = (size_t)__builtin_ctzl(parts);
	size_t last = (size_t)(63 - __builtin_clzl(parts));

	*size = (last + 1 - first) * MEMORY_COPIES_PART;
	return first * MEMORY_COPIES_PART;
}

/* All parts from the first to the last of PARTS. */
static uint8_t parts_filled(uintptr_t parts)
{
	return (uint8_t)((2u << (63 - __builtin_clzl(parts))) - (1u << __builtin_ctzl(parts)));
}

static uint8_t *page_hint(struct memory_copies *copies, uintptr_t page)
{
	return &copies->places[page / MEMORY_PAGE % sizeof(copies->places)];
}

/* Add an entry for PAGE without contents. */
static unsigned int copies_add_page(struct memory_copies *copies, uintptr_t page)
{
	unsigned int i = copies->next;

	copies->next = (i + 1) % MEMORY_COPIES_PAGES;
	if (copies->count < MEMORY_COPIES_PAGES)
		copies->count++;
	copies->pages[i] = page;
	copies->there[i] = copies->read[i] = 0;
	*page_hint(copies, page) = (uint8_t)i;
	return i;
}

/* Returns MEMORY_COPIES_PAGES if PAGE has no entry. */
static unsigned int copies_find_page(struct memory_copies *copies, uintptr_t page)
{
	unsigned int i = *page_hint(copies, page);

	if (i < copies->count && copies->pages[i] == page)
		return i;
	for (i = 0; i < copies->count && copies->pages[i] != page; i++)
		;
	if (i == copies->count)
		return MEMORY_COPIES_PAGES;
	*page_hint(copies, page) = (uint8_t)i;
	return i;
}

static long copies_read_memory(struct memory_copies *copies, const struct iovec *to,
			       const struct iovec *from, size_t count)
{
	if (!copies->self)
		copies->self = (pid_t)kernel_call4(SYS_gettid, 0, 0, 0, 0);
	return kernel_call6(SYS_process_vm_readv, copies->self, (long)to, (long)count, (long)from,
			    (long)count, 0);
}

void memory_copies_begin(struct memory_copies *copies, uintptr_t who)
{
	const _Atomic uintptr_t *guessed = guesses_for_thread(who);
	size_t count = 0, offset, size;
	uintptr_t guess;
	long n;

	copies->self = 0;
	copies->count = copies->next = copies->calls = 0;
	copies->budget = walk_budget_current();
	for (; who && count < GUESSED_PAGES; count++) {
		guess = atomic_load_explicit(&guessed[count], memory_order_relaxed);
		if (!(guess & PARTS))
			break;
		offset = parts_span(guess & PARTS, &size);
		copies_add_page(copies, guess & ~(MEMORY_PAGE - 1));
		copies->from[count] =
			(struct iovec){ .iov_base = (void *)((guess & ~(MEMORY_PAGE - 1)) + offset),
					.iov_len = size };
		copies->to[count] = (struct iovec){ .iov_base = copies->bytes[count] + offset,
						    .iov_len = size };
		copies->there[count] = parts_filled(guess & PARTS);
	}
	if (!count)
		return;
	n = copies_read_memory(copies, copies->to, copies->from, count);
	/* Everything from the first unreadable place on is missing. */
	for (size_t i = 0; i < count; i++) {
		n -= (long)copies->from[i].iov_len;
		if (n < 0)
			copies->there[i] = 0;
	}
}

/* Like memory_copy(), without a system call for the thread id each time. */
static bool copies_read_one(struct memory_copies *copies, void *data, uintptr_t address,
			    size_t size)
{
	struct iovec to = { .iov_base = data, .iov_len = size };
	struct iovec from = { .iov_base = (void *)address, .iov_len = size };
	long n = copies_read_memory(copies, &to, &from, 1);

	/* (Fallback for a sandbox that refuses the call.) */
	return n == (long)size || (n < 0 && n != -EFAULT && memory_copy(data, address, size));
}

static bool copies_use_budget(struct memory_copies *copies, uint32_t words)
{
	return !copies->budget || walk_budget_use(copies->budget, words);
}

/* Read PARTS of PAGE if they are missing. Returns the page's index, or MEMORY_COPIES_PAGES. */
static unsigned int copies_fetch(struct memory_copies *copies, uintptr_t page, uint8_t parts)
{
	unsigned int i = copies_find_page(copies, page);
	size_t offset, size;

	if (i == MEMORY_COPIES_PAGES)
		i = copies_add_page(copies, page);
	else if ((copies->there[i] & parts) == parts)
		return i;
	else if (copies->there[i])
		parts = (uint8_t)PARTS;
	if (copies->calls++ >= MEMORY_COPIES_MAX || !copies_use_budget(copies, WALK_BUDGET_COPY))
		return MEMORY_COPIES_PAGES;
	offset = parts_span(parts, &size);
	if (!copies_read_one(copies, copies->bytes[i] + offset, page + offset, size))
		return MEMORY_COPIES_PAGES;
	copies->there[i] |= parts_filled(parts);
	return i;
}

bool memory_copies_read(struct memory_copies *copies, void *data, uintptr_t address, size_t size)
{
	uint8_t *to = data, parts;
	uintptr_t page;
	size_t offset, length;
	unsigned int i;

	if (address >> ARCH_ADDRESS_BITS || address < MEMORY_PAGE ||
	    !copies_use_budget(copies, READ_WORDS))
		return false;
	for (; size; size -= length, address += length, to += length) {
		page = address & ~(MEMORY_PAGE - 1);
		offset = address - page;
		length = size < MEMORY_PAGE - offset ? size : MEMORY_PAGE - offset;
		parts = (uint8_t)((2u << ((offset + length - 1) / MEMORY_COPIES_PART)) -
				  (1u << (offset / MEMORY_COPIES_PART)));
		i = copies_fetch(copies, page, parts);
		if (i == MEMORY_COPIES_PAGES)
			return false;
		copies->read[i] |= parts;
		memcpy(to, copies->bytes[i] + offset, length);
	}
	return true;
}

void memory_copies_end(struct memory_copies *copies, uintptr_t who)
{
	_Atomic uintptr_t *guessed = guesses_for_thread(who);
	size_t count = 0;

	for (unsigned int i = 0; i < copies->count && count < GUESSED_PAGES; i++)
		if (copies->read[i])
			atomic_store_explicit(&guessed[count++], copies->pages[i] | copies->read[i],
					      memory_order_relaxed);
	if (count < GUESSED_PAGES)
		atomic_store_explicit(&guessed[count], 0, memory_order_relaxed);
}
