/* Common part of an interpreter that was found in this process. The structure of each runtime
 * begins with it. A row of runtimes.c finds each kind, and a row of mixed_stack.c places its
 * frames. */
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
	/* Code of its module: a thread that runs a function in this range has called the interpreter. */
	uintptr_t text, text_end;
	/* The evaluator, the function that runs script functions. Its calls are replaced by the
	 * script frames that they run. Both 0: there is none. */
	uintptr_t evaluator, evaluator_end;
	bool has_jit; /* it compiles code outside the module that native walks cannot cross */
	bool finds_own_frames; /* its frames may be on any stack; only its own walk finds them */
};

/* Size of the largest runtime structure, in bytes. */
#define RUNTIME_BYTES 1024

/* Native frames from a walk, innermost first. */
struct native_frames {
	uintptr_t *pcs;       /* a runtime's walk may set one to 0 to leave it out */
	const uintptr_t *sps; /* see unwind.h */
	const uintptr_t *fps;
	size_t count;
	bool is_exact; /* the first is the next instruction, not a return address */
	const void *
		context; /* ucontext_t of the interrupted thread; NULL: the thread called the walk itself */
};

/* Mark after the frames that one evaluator call runs: an address on the stack of that call, or 0 if
 * not known, with a bit set that no frame has. */
#define RUNTIME_ANCHOR ((uintptr_t)1)

static inline bool runtime_is_evaluator(const struct runtime *runtime, uintptr_t pc)
{
	return pc > runtime->evaluator && pc <= runtime->evaluator_end;
}

#endif
