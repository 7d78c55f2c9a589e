/* CPython as found in this process. */
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
	uintptr_t runtime; /* _PyRuntime */
	uintptr_t runtime_bytes;
	uintptr_t code_type; /* PyCode_Type */
};

_Static_assert(sizeof(struct python) <= RUNTIME_BYTES, "as much as is kept of each");

/* Pages that are remembered as mapped during one walk. */
#define PYTHON_PAGES 64

/* Workspace of one walk; the stack of a handler is too small for it. */
struct python_work {
	bool is_at_call; /* the thread called the walk itself and is not at an arbitrary instruction; set by the caller */
	bool is_stable; /* no thread finalizes the interpreter */
	uintptr_t pages[PYTHON_PAGES];
	struct memory_copies copies;
	uint8_t frame[PYTHON_FRAME_BYTES];
	uintptr_t
		code_at; /* address of the code object in CODE, which belongs to FUNCTION; 0: none yet */
	uint8_t code[PYTHON_CODE_BYTES];
	uint32_t function;
	struct memory_block block, stack_block;
	char name[FRAME_NAME_MAX], file[FRAME_FILE_MAX];
};

/* Whether there are several interpreters: a thread may then run more than one. Set by the agent's thread. */
extern _Atomic bool python_has_several;

/* Write the frames of the calling thread to FRAMES, innermost first, in the form of frame_table.h.
 * A RUNTIME_ANCHOR follows the frames of each evaluator call. STACK reads the thread's own stack.
 * Returns the number of words, at most MAX; 0 if the thread runs no Python. Async-signal-safe: no
 * locks, no allocation, and no read can fault. */
size_t python_walk(const struct python *python, struct python_work *work,
		   struct memory_reader *stack, uintptr_t *frames, size_t max);

/* Write to WORK the name and the file of the code object whose first bytes are VIEW. */
void python_code_names(const struct python_layout *layout, struct python_work *work,
		       const uint8_t view[PYTHON_CODE_BYTES]);

/* Line of byte OFFSET in the code of the code object whose first bytes are VIEW. */
uint32_t python_code_line(const struct python_layout *layout, struct python_work *work,
			  const uint8_t view[PYTHON_CODE_BYTES], int64_t offset);

#endif
