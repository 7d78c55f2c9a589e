/* Asks the kernel whether a page can be read, as seldom as possible. */
#include "engine/stack_memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "engine/unwind_arch.h"

#define SIGSET_BYTES 8

bool stack_memory_probe(uintptr_t address)
{
	/* The set is read before the operation, which there is none of, is looked at: EFAULT when
	 * it cannot be read, else EINVAL. Nothing is changed. */
	address &= ~(uintptr_t)(SIGSET_BYTES - 1);
	return arch_syscall4(SYS_rt_sigprocmask, -1, (long)address, 0, SIGSET_BYTES) == -EINVAL;
}

static uintptr_t page_of(uintptr_t address)
{
	return address & ~(STACK_PAGE - 1);
}

/* How much of this thread's stack was found readable: the page number of its end, then how many
 * pages below that. One word, as a walk may interrupt a walk. Whoever gives the same end means
 * the same stack, which stays for as long as the thread does. */
static __thread _Atomic uint64_t known;

#define KNOWN_BITS   24
#define KNOWN_PAGES  ((UINT64_C(1) << KNOWN_BITS) - 1)
#define KNOWN_GROWTH 32 /* pages asked about at once */

/* Extend what is known of the stack that ends at TOP (a page) down to the page of SP. Returns how
 * many pages below TOP are readable without a gap. */
static uint64_t known_below(uintptr_t top, uintptr_t sp)
{
	uint64_t word = atomic_load_explicit(&known, memory_order_relaxed);
	uint64_t number = top / STACK_PAGE, pages = word & KNOWN_PAGES, wanted, end;

	if (word >> KNOWN_BITS != number)
		pages = 0;
	wanted = (top - page_of(sp)) / STACK_PAGE;
	if (wanted > KNOWN_PAGES)
		return 0;
	end = wanted < pages + KNOWN_GROWTH ? wanted : pages + KNOWN_GROWTH;
	if (pages >= wanted)
		return pages;
	while (pages < end && stack_memory_probe(top - (pages + 1) * STACK_PAGE))
		pages++;
	atomic_store_explicit(&known, number << KNOWN_BITS | pages, memory_order_relaxed);
	return pages;
}

void stack_memory_move(struct stack_memory *memory, uintptr_t sp, uintptr_t stack_high)
{
	uintptr_t top = page_of(stack_high + STACK_PAGE - 1);
	uint64_t pages;

	memory->low = memory->high = memory->page = 0;
	if (sp >= top || !sp)
		return;
	pages = known_below(top, sp);
	if (top - pages * STACK_PAGE > sp)
		return;
	memory->low = top - pages * STACK_PAGE;
	memory->high = top;
}

bool stack_memory_extend(struct stack_memory *memory, uintptr_t address)
{
	uintptr_t page = page_of(address);

	if (memory->page && page == memory->page)
		return true;
	if (memory->probes >= STACK_PROBES_MAX || address >> ARCH_ADDRESS_BITS)
		return false;
	memory->probes++;
	if (!stack_memory_probe(address))
		return false;
	if (memory->high && page == memory->high) {
		memory->high += STACK_PAGE;
	} else if (!memory->high) {
		memory->low = page;
		memory->high = page + STACK_PAGE;
	} else {
		memory->page = page;
	}
	return true;
}
