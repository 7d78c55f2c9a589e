/* Stack unwinder. All functions are async-signal-safe unless stated otherwise: no locks, no
 * allocation, errno preserved. They never fault, and use less than 3 KiB of stack. */
#ifndef ENGINE_UNWIND_UNWIND_H
#define ENGINE_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Walk the stack of the interrupted context UCONTEXT (a ucontext_t, as signal handlers get it).
 * STACK_HIGH is the end of the thread's stack; 0 if unknown, which makes the walk a little slower.
 *
 * PCS[0] is the interrupted instruction. The others are return addresses, from which a symbolizer
 * subtracts 1. The pc of a frame that a signal interrupted further up is written plus 1, so that
 * the same subtraction is right.
 *
 * If SPS is not NULL, SPS[i] is the stack pointer in frame i: that function's stack data lies from
 * there up to the next frame's. FPS[i] is then its frame pointer if its code has no unwind
 * information (as code of a just-in-time compiler), else 0.
 *
 * Two functions of glibc have instructions with wrong unwind information, from which a walk fails:
 * - swapcontext(), eight on x86-64, between loading the new stack pointer and pushing the return
 *   address there;
 * - clone() and clone3() in the new thread, two: every signal is blocked then.
 *
 * Where the walk cannot continue, STACK_CALLERS_UNKNOWN (core/preload_code.h) is written last.
 *
 * Returns the number of frames written, at most MAX. Sets *TRUNCATED if there were more. */
size_t unwind_context_sps(const void *ucontext, uintptr_t stack_high, uintptr_t *pcs,
			  uintptr_t *sps, uintptr_t *fps, size_t max, bool *truncated);

static inline size_t unwind_context(const void *ucontext, uintptr_t stack_high, uintptr_t *pcs,
				    size_t max, bool *truncated)
{
	return unwind_context_sps(ucontext, stack_high, pcs, NULL, NULL, max, truncated);
}

/* Walk the caller's own stack. With SKIP 0 the first frame is the caller of the function that calls
 * this; each further SKIP omits one more. Otherwise like unwind_context. */
#define unwind_here(stack_high, skip, pcs, max, truncated) \
	unwind_here_sps(stack_high, skip, pcs, NULL, NULL, max, truncated)
size_t unwind_here_sps(uintptr_t stack_high, size_t skip, uintptr_t *pcs, uintptr_t *sps,
		       uintptr_t *fps, size_t max, bool *truncated);

/* Set the address range [TEXT, TEXT_END) of the Java virtual machine's own code; both 0: none. The
 * unwinder leaves code that the machine generates in one step, to the frame that called into Java.
 * Not in a handler. A concurrent walk may use the old or the new range. */
void unwind_set_java(uintptr_t text, uintptr_t text_end);

/* True when PC is in no module, but in generated code. Async-signal-safe. */
bool unwind_is_made_code(uintptr_t pc);

/* Walk on from a known frame: its return address, stack pointer, frame pointer, and register
 * ARCH_BASE. Otherwise like unwind_context_sps(); PCS[0] is the return address PC. */
struct unwind_place {
	uintptr_t pc, sp, fp, base;
};

size_t unwind_place_sps(const struct unwind_place *place, uintptr_t stack_high, uintptr_t *pcs,
			uintptr_t *sps, uintptr_t *fps, size_t max, bool *truncated);

/* True if, since the last call, a walk met a module that modules_refresh() has not seen or should
 * compile, or did not reach the entry. */
bool unwind_wants_refresh(void);

#endif
