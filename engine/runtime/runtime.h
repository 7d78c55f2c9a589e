/* An interpreter, as it was found in this process: what each kind of them has in common. Its own
 * structure, in a header of its own, begins with this one. How each kind is found is a row of
 * runtimes.c, and how its frames are put in their places a row of mixed_stack.c. */
#ifndef ENGINE_RUNTIME_RUNTIME_H
#define ENGINE_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum runtime_kind {
	RUNTIME_PYTHON,
	RUNTIME_V8,
	RUNTIME_RUBY,
	RUNTIME_JVM,
	RUNTIME_PHP,
	RUNTIME_PERL,
	RUNTIME_KINDS
};

struct runtime {
	enum runtime_kind kind;
	/* Code of the module that it is in: a thread that runs a function of it has called that. */
	uintptr_t text, text_end;
	/* The function that runs functions, each call of which is replaced by what it runs; both 0: none. */
	uintptr_t evaluator, evaluator_end;
	bool has_jit;          /* it makes code elsewhere, through which no walk finds its way */
	bool finds_own_frames; /* any stack may be one of its own, which its walk tells */
};

/* As much as any of their own structures has. */
#define RUNTIME_BYTES 1024

/* Native frames as a walk found them, innermost first. */
struct native_frames {
	uintptr_t *pcs;       /* a walk may make one 0: that is left out */
	const uintptr_t *sps; /* see unwind.h */
	const uintptr_t *fps;
	size_t count;
	bool exact;          /* the first is an instruction to come, not a return address */
	const void *context; /* the ucontext_t of who was interrupted; NULL: it has called us */
};

/* What a walk writes behind the frames that one call of the evaluator runs: an address on the stack of
 * that call, or 0 where it is not known, marked by a bit that no frame has. */
#define RUNTIME_ANCHOR ((uintptr_t)1)

static inline bool runtime_is_evaluator(const struct runtime *runtime, uintptr_t pc)
{
	return pc > runtime->evaluator && pc <= runtime->evaluator_end;
}

#endif
