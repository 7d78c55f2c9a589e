/* PHP as found in this process.
 *
 * No function of PHP is called. Its frames are a chain that starts in executor_globals; one call of
 * execute_ex runs a row of them, up to the frame marked as the end of the row. */
#ifndef ENGINE_RUNTIME_PHP_H
#define ENGINE_RUNTIME_PHP_H

#include <stddef.h>
#include <stdint.h>

#include "engine/reading/memory_copies.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/php/php_layout.h"
#include "engine/runtime/runtime.h"

/* Functions that create the first frame of a row and then call the evaluator. */
#define PHP_CALLERS 4

struct php {
	struct runtime base; /* its evaluator is execute_ex */
	struct php_layout layout;
	uintptr_t globals; /* executor_globals */
	struct {
		uintptr_t start, end;
	} callers[PHP_CALLERS];
};

_Static_assert(sizeof(struct php) <= RUNTIME_BYTES, "as much as is kept of each");

/* Workspace of one walk; the stack of a handler is too small for it. */
struct php_work {
	struct memory_copies copies;
	uint8_t function[PHP_FUNCTION_BYTES];
	uintptr_t function_at; /* address of the function in FUNCTION; 0: none yet */
	uint32_t number;       /* of that function, in the frame table */
	char name[FRAME_NAME_MAX], file[FRAME_FILE_MAX];
};

/* Write the frames of the calling thread to FRAMES, innermost first, in the form of frame_table.h.
 * The stack ends at STACK_HIGH. A RUNTIME_ANCHOR follows the frames of each evaluator call among
 * the NATIVE frames; native frames that are part of such a call are set to 0. Returns the number of
 * words, at most MAX; 0 if the thread runs no PHP. Async-signal-safe: no locks, no allocation; the
 * kernel copies what is read. */
size_t php_walk(const struct php *php, struct php_work *work, const struct native_frames *native,
		uintptr_t stack_high, uintptr_t *frames, size_t max);

#endif
