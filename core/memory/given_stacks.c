/* Alternate signal stacks of the program: a hash table by their address. */
#include "core/memory/given_stacks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/system.h"

#define PLACES 2048u
#define WINDOW 32u /* places of an address, which follow each other */

static struct {
	_Atomic uintptr_t address; /* 0: free */
	_Atomic pid_t owner;       /* 0: not set yet */
} given_stacks[PLACES];

static _Atomic uint32_t
	forked_claim; /* of the thread that forked this process; its id is its parent's */

static uint32_t place_of(uintptr_t address, uint32_t step)
{
	return ((uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 32) + step) % PLACES;
}

static bool claim_is_void(uint32_t place, pid_t owner)
{
	return owner && atomic_load(&forked_claim) != place + 1 && system_thread_is_gone(owner);
}

/* Return the claim of ADDRESS by another thread than the caller's, which has CLAIM; 0 if there is none. */
static uint32_t find_other(uintptr_t address, uint32_t claim)
{
	for (uint32_t i = 0; i < WINDOW; i++) {
		uint32_t place = place_of(address, i);

		if (place + 1 != claim && atomic_load(&given_stacks[place].address) == address)
			return place + 1;
	}
	return 0;
}

static uint32_t add_claim(uintptr_t address)
{
	for (uint32_t i = 0; i < WINDOW; i++) {
		uint32_t place = place_of(address, i);
		uintptr_t none = 0;

		if (atomic_load(&given_stacks[place].address) ||
		    !atomic_compare_exchange_strong(&given_stacks[place].address, &none, address))
			continue;
		atomic_store(&given_stacks[place].owner, system_thread());
		return place + 1;
	}
	return GIVEN_STACK_NOT_NOTED;
}

/* Take CLAIM over from a thread that has ended. */
static bool take_claim(uint32_t claim)
{
	pid_t owner = atomic_load(&given_stacks[claim - 1].owner);

	return claim_is_void(claim - 1, owner) &&
	       atomic_compare_exchange_strong(&given_stacks[claim - 1].owner, &owner,
					      system_thread());
}

uint32_t given_stack_claim(uintptr_t address, uint32_t had)
{
	uint32_t other, claim;

	if (had && had != GIVEN_STACK_NOT_NOTED &&
	    atomic_load(&given_stacks[had - 1].address) == address)
		return had;
	other = find_other(address, 0);
	if (other)
		return take_claim(other) ? other : 0;
	claim = add_claim(address);
	if (claim == GIVEN_STACK_NOT_NOTED || !find_other(address, claim))
		return claim;
	given_stack_release(claim); /* another thread came at the same time */
	return 0;
}

void given_stack_release(uint32_t claim)
{
	if (!claim || claim == GIVEN_STACK_NOT_NOTED)
		return;
	atomic_store(&given_stacks[claim - 1].owner, 0);
	atomic_store(&given_stacks[claim - 1].address, 0);
}

void given_stacks_reset_in_child(uint32_t claim)
{
	atomic_store(&forked_claim, claim);
}
