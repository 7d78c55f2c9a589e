/* Stack walks. All of it is async-signal-safe: no locks, no allocation, errno preserved, no
 * memory read that could fault, under 3 KiB of stack. */
#ifndef ENGINE_UNWIND_UNWIND_H
#define ENGINE_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Walk the stack that UCONTEXT (a ucontext_t, as handlers get it) was interrupted on.
 * STACK_HIGH is where the thread's stack ends, 0 when unknown: the walk is then a little slower.
 *
 * PCS[0] is the interrupted instruction; the others are return addresses, from which a
 * symbolizer subtracts 1. A frame that a signal interrupted further up is written one too high,
 * so that the same subtraction suits it. Where SPS is not NULL, SPS[i] is the stack pointer in frame
 * i: what that function has on the stack lies from there up to the next frame's. FPS[i] is then its
 * frame pointer where its code has no unwind information (so that of a just-in-time compiler), else 0.
 *
 * Two functions of glibc have instructions of which its unwind information says nothing right, and
 * from which a walk goes wrong:
 * - swapcontext(), eight on x86-64, between loading the new stack pointer and pushing the return
 *   address there;
 * - clone() and clone3() in the new thread, two: every signal is blocked then.
 *
 * Where the walk finds no way on, STACK_CALLERS_UNKNOWN (core/preload_code.h) is written last.
 *
 * Returns the frames written, at most MAX; *TRUNCATED tells whether there were more. */
size_t unwind_context_sps(const void *ucontext, uintptr_t stack_high, uintptr_t *pcs,
			  uintptr_t *sps, uintptr_t *fps, size_t max, bool *truncated);

static inline size_t unwind_context(const void *ucontext, uintptr_t stack_high, uintptr_t *pcs,
				    size_t max, bool *truncated)
{
	return unwind_context_sps(ucontext, stack_high, pcs, NULL, NULL, max, truncated);
}

/* Walk the caller's own stack. With SKIP 0 the first frame is the caller of the function that
 * calls this; each more leaves out one more. Otherwise like unwind_context. */
#define unwind_here(stack_high, skip, pcs, max, truncated) \
	unwind_here_sps(stack_high, skip, pcs, NULL, NULL, max, truncated)
size_t unwind_here_sps(uintptr_t stack_high, size_t skip, uintptr_t *pcs, uintptr_t *sps,
		       uintptr_t *fps, size_t max, bool *truncated);

/* A Java machine's own code is at [TEXT, TEXT_END) from now on; both 0: there is none. What it makes is left by one
 * step, to who called into Java. Not in a handler; a walk meanwhile may take the one or the other for it. */
void unwind_set_java(uintptr_t text, uintptr_t text_end);

/* Async-signal-safe: whether the code at PC is of no module, but made while the program runs. */
bool unwind_is_made_code(uintptr_t pc);

/* Go on from a frame that is known from elsewhere: where it called, its stack pointer and frame pointer, and
 * register ARCH_BASE. Otherwise like unwind_context_sps(); PCS[0] is the return address PC. */
struct unwind_place {
	uintptr_t pc, sp, fp, base;
};

size_t unwind_place_sps(const struct unwind_place *place, uintptr_t stack_high, uintptr_t *pcs,
			uintptr_t *sps, uintptr_t *fps, size_t max, bool *truncated);

/* Whether a walk met a module that modules_refresh() has not seen yet, or one that is worth a
 * table by now, or did not reach the entry, since this was last asked. */
bool unwind_wants_refresh(void);

#endif
