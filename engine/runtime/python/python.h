/* CPython, as it was found in this process. */
#ifndef ENGINE_RUNTIME_PYTHON_H
#define ENGINE_RUNTIME_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/reading/memory_copies.h"
#include "engine/reading/memory_reader.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/python/python_layout.h"
#include "engine/runtime/runtime.h"

struct python {
	struct runtime base; /* its evaluator is _PyEval_EvalFrameDefault */
	struct python_layout layout;
	uintptr_t runtime;   /* _PyRuntime */
	uintptr_t code_type; /* PyCode_Type */
};

_Static_assert(sizeof(struct python) <= RUNTIME_BYTES, "as much as is kept of each");

/* So many pages are remembered to be there, while a walk lasts. */
#define PYTHON_PAGES 64

/* Room for one walk; a handler's stack has little. */
struct python_work {
	bool at_call; /* the thread has called us, and is not at any instruction: the caller says so */
	bool is_stable; /* and nobody takes the interpreter down */
	uintptr_t pages[PYTHON_PAGES];
	struct memory_copies copies;
	uint8_t frame[PYTHON_FRAME_BYTES];
	uintptr_t code_at; /* where what CODE holds is from, which is FUNCTION's; 0: nowhere yet */
	uint8_t code[PYTHON_CODE_BYTES];
	uint32_t function;
	struct memory_block block, stack_block;
	char name[FRAME_NAME_MAX], file[FRAME_FILE_MAX];
};

/* Whether there are several interpreters: a thread may then be in more than one. Set by the agent's
 * thread. */
extern _Atomic bool python_has_several;

/* Write the frames of the calling thread to FRAMES, innermost first, as frame_table.h has them, and a
 * RUNTIME_ANCHOR behind those of each call of the evaluator. STACK reads the thread's own stack. Returns how
 * many words, at most MAX; none where the thread runs no Python.
 * Async-signal-safe: no lock, no allocation, no read that could fault. */
size_t python_walk(const struct python *python, struct python_work *work,
		   struct memory_reader *stack, uintptr_t *frames, size_t max);

/* What a code object at CODE, of which the first bytes are VIEW, is called and where it is, into
 * WORK's name and file. */
void python_code_names(const struct python_layout *layout, struct python_work *work,
		       const uint8_t view[PYTHON_CODE_BYTES]);

/* The line that byte OFFSET of its code belongs to. */
uint32_t python_code_line(const struct python_layout *layout, struct python_work *work,
			  const uint8_t view[PYTHON_CODE_BYTES], int64_t offset);

#endif
