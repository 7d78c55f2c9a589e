/* Alternate signal stacks of the program. Each is used by one thread at a time. Threads may install the same one, if only a
 * handler that ends the process runs there. But samples of two threads would overwrite each other. */
#ifndef CORE_MEMORY_GIVEN_STACKS_H
#define CORE_MEMORY_GIVEN_STACKS_H

#include <stdint.h>

/* The claim of a stack while too many others are noted: it is not compared. */
#define GIVEN_STACK_NOT_NOTED UINT32_MAX

/* Claim the stack at ADDRESS for the calling thread, which has claim HAD (0: none). Returns HAD if that is the claim of
 * ADDRESS, a new claim, or 0 if another thread has installed the stack. Async-signal-safe, as are the rest. */
uint32_t given_stack_claim(uintptr_t address, uint32_t had);

/* Release CLAIM, which may be 0. */
void given_stack_release(uint32_t claim);

/* In a forked child: its only thread has CLAIM. Claims of other threads are void. */
void given_stacks_reset_in_child(uint32_t claim);

#endif
