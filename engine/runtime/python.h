/* CPython, as it was found in this process. */
#ifndef ENGINE_RUNTIME_PYTHON_H
#define ENGINE_RUNTIME_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/reading/memory_reader.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/python_layout.h"

struct python {
	struct python_layout layout;
	uintptr_t runtime;                  /* _PyRuntime */
	uintptr_t code_type;                /* PyCode_Type */
	uintptr_t text, text_end;           /* code of the module that it is in */
	uintptr_t evaluator, evaluator_end; /* _PyEval_EvalFrameDefault */
};

/* So many code objects are read at once. */
#define PYTHON_BATCH 32

/* A frame that was met, and is to be named. */
struct python_pending {
	uintptr_t code;        /* 0: no frame, but an anchor */
	uintptr_t instruction; /* an address, or an index into the code; or the anchor */
};

/* Room for one walk; a handler's stack has none. */
struct python_work {
	/* A piece of memory as it was a moment ago: frames lie close together. */
	uintptr_t window_at;
	size_t window_bytes;
	uint8_t window[2048];
	uint8_t on_stack[PYTHON_FRAME_BYTES];
	struct python_pending pending[PYTHON_BATCH];
	size_t pending_count;
	struct iovec places[2 * PYTHON_BATCH];
	uint8_t codes[PYTHON_BATCH][PYTHON_CODE_BYTES];
	uint8_t contents[2 * PYTHON_BATCH][64];
	struct memory_block block, stack_block;
	char name[FRAME_NAME_MAX], file[FRAME_FILE_MAX];
};

/* What a walk writes behind the frames that one call of the evaluator runs: an address on the stack
 * of that call, or 0 where it is not known, marked by a bit that no frame has. */
#define PYTHON_ANCHOR ((uintptr_t)1)

/* Whether there are several interpreters, each with a lock of its own: a thread may then be in more than
 * one. Set by the agent's thread. */
extern _Atomic bool python_has_several;

/* Write the frames of the calling thread to FRAMES, innermost first, as frame_table.h has them, and an
 * anchor behind those of each call of the evaluator. STACK reads the thread's own stack. Returns how
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
