/* Stacks as a program's author knows them: where an interpreter runs, the functions that it runs
 * stand in place of its own.
 *
 * A call of an interpreter is one native frame, in whose place come all the frames that it runs; native
 * functions that those call, and what these in turn have the interpreter run, stand above. So a
 * function of C that Python calls, and that calls Python again, has its place between the two. */
#ifndef ENGINE_RUNTIME_MIXED_STACK_H
#define ENGINE_RUNTIME_MIXED_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/runtime/runtime.h"

/* These are like unwind_context() and unwind_here(), and cost nothing more in a process without an
 * interpreter. Frames of one are told by frame_table.h. Async-signal-safe. */
size_t mixed_stack_context(const void *ucontext, uintptr_t stack_high, uintptr_t *pcs, size_t max,
			   bool *truncated);
size_t mixed_stack_here(uintptr_t stack_high, size_t skip, uintptr_t *pcs, size_t max,
			bool *truncated);

/* Have the above look for frames of RUNTIME from now on, of which BYTES are copied; NULL: for none of
 * its KIND. One thread. Returns 0 or -ENOMEM. */
int mixed_stack_look_for(enum runtime_kind kind, const struct runtime *runtime, size_t bytes);

/* Tell the walks whether there are several interpreters of Python now. */
void mixed_stack_several(bool several);

/* Renew the table of frames when that is due. True: there is an old one, and no walk that may go on with it, so that
 * it may be dropped when nobody holds a frame of it. One thread. */
bool mixed_stack_turn(void);

/* In a forked child: nothing is looked for, and no walk is under way. */
void mixed_stack_after_fork(void);

/* Put FRAMES, with a RUNTIME_ANCHOR behind those of each call of RUNTIME's evaluator, in their places
 * among NATIVE ones. Returns how many there are in OUT, at most MAX. */
size_t mixed_stack_merge(const struct runtime *runtime, const struct native_frames *native,
			 const uintptr_t *frames, size_t frame_count, uintptr_t *out, size_t max,
			 bool *truncated);

#endif
