/* The readable range of a thread's current stack. */
#include "engine/reading/stack_memory.h"

#include <stdatomic.h>

static uintptr_t page_of(uintptr_t address)
{
	return address & ~(MEMORY_PAGE - 1);
}

/* The readable part of this thread's stack: the page number of its end, and the number of pages
 * below it. It is one word because a walk may interrupt a walk. The same end identifies the same
 * stack, which stays mapped as long as the thread lives. */
static __thread _Atomic uint64_t known;

#define KNOWN_BITS   24
#define KNOWN_PAGES  ((UINT64_C(1) << KNOWN_BITS) - 1)
#define KNOWN_GROWTH 32 /* maximum number of pages probed at once */

/* Extend the known part of the stack that ends at TOP (a page) down to the page of SP. Returns how
 * many pages below TOP are readable without a gap. */
static uint64_t known_below(uintptr_t top, uintptr_t sp)
{
	uint64_t word = atomic_load_explicit(&known, memory_order_relaxed);
	uint64_t number = top / MEMORY_PAGE, pages = word & KNOWN_PAGES, wanted, end;

	if (word >> KNOWN_BITS != number)
		pages = 0;
	wanted = (top - page_of(sp)) / MEMORY_PAGE;
	if (wanted > KNOWN_PAGES)
		return 0;
	end = wanted < pages + KNOWN_GROWTH ? wanted : pages + KNOWN_GROWTH;
	if (pages >= wanted)
		return pages;
	while (pages < end && memory_probe(top - (pages + 1) * MEMORY_PAGE))
		pages++;
	atomic_store_explicit(&known, number << KNOWN_BITS | pages, memory_order_relaxed);
	return pages;
}

void stack_memory_move(struct memory_reader *reader, uintptr_t sp, uintptr_t stack_high)
{
	uintptr_t top = page_of(stack_high + MEMORY_PAGE - 1);
	uint64_t pages;

	reader->low = reader->high = 0;
	reader->next = reader->distrusted ? 0 : page_of(sp);
	if (sp >= top || !sp)
		return;
	pages = known_below(top, sp);
	if (top - pages * MEMORY_PAGE > sp)
		return;
	reader->low = top - pages * MEMORY_PAGE;
	reader->high = top;
	reader->next = 0;
}
