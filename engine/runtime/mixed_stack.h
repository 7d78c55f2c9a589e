/* Stack traces in which script functions replace the frames of the interpreter that runs them.
 *
 * An evaluator call is one native frame; all script frames that it runs replace it. Native
 * functions called from those frames, and script frames that these run in turn, are placed above.
 * So a C function that Python calls, and that calls Python again, is between the two. */
#ifndef ENGINE_RUNTIME_MIXED_STACK_H
#define ENGINE_RUNTIME_MIXED_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/runtime/runtime.h"

/* Like unwind_context() and unwind_here(), with no extra cost in a process without an interpreter.
 * frame_table.h describes the script frames. Async-signal-safe. */
size_t mixed_stack_context(const void *ucontext, uintptr_t stack_high, uintptr_t *pcs, size_t max,
			   bool *truncated);
size_t mixed_stack_here(uintptr_t stack_high, size_t skip, uintptr_t *pcs, size_t max,
			bool *truncated);

/* Make the functions above search for frames of RUNTIME, of which BYTES are copied; NULL stops the
 * search for KIND. One thread. Returns 0, -ENOMEM, or -EAGAIN if walks prevented it. */
int mixed_stack_look_for(enum runtime_kind kind, const struct runtime *runtime, size_t bytes);

/* Set whether the process has several Python interpreters now. */
void mixed_stack_several(bool several);

/* Renew the frame table when needed. Returns true if an old table exists and no walk in progress
 * can use it: it may then be dropped once no user holds a frame of it. One thread. */
bool mixed_stack_turn(void);

/* In a forked child: stop all searches and reset all workspaces, since no walk is in progress. */
void mixed_stack_after_fork(void);

/* Merge FRAMES into the NATIVE frames. A RUNTIME_ANCHOR follows the frames of each evaluator call
 * of RUNTIME. Returns the number of frames in OUT, at most MAX. */
size_t mixed_stack_merge(const struct runtime *runtime, const struct native_frames *native,
			 const uintptr_t *frames, size_t frame_count, uintptr_t *out, size_t max,
			 bool *truncated);

#endif
