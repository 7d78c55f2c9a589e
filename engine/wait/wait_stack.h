/* Uses of futexes, from the functions on the waiting thread's stack. Agent thread only. */
#ifndef ENGINE_WAIT_WAIT_STACK_H
#define ENGINE_WAIT_WAIT_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "engine/symbols/symbols.h"
#include "engine/wait/wait.h"

/* Set the cause of WAIT, if it is a futex, by the innermost known function on the stack; remove the
 * owner that does not fit the kind of lock. PCS are innermost first; all but the first are return
 * addresses. If the wait was over before the stack was taken, the last known use of the same futex
 * decides, or of this thread if the futex is not known. */
void wait_set_cause_by_stack(struct wait *wait, struct symbols *symbols, const uintptr_t *pcs,
			     size_t count);

/* Forget the uses of addresses, at the end of a chunk: modules may be unloaded. */
void wait_stack_forget(void);

#endif
