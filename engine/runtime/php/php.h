/* PHP, as it was found in this process.
 *
 * Nothing of it is called. What runs is a chain of frames that executor_globals leads to; one call of
 * execute_ex runs a row of them, up to one that is marked as the row's end. */
#ifndef ENGINE_RUNTIME_PHP_PHP_H
#define ENGINE_RUNTIME_PHP_PHP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/reading/memory_copies.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/php/php_layout.h"
#include "engine/runtime/runtime.h"

/* Functions that make a row's first frame, and then call the evaluator. */
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

/* Room for one walk; a handler's stack has little. */
struct php_work {
	struct memory_copies copies;
	uint8_t function[PHP_FUNCTION_BYTES];
	uintptr_t function_at; /* where what FUNCTION holds is from; 0: nowhere yet */
	uint32_t number;       /* of that function, in the frame table */
	char name[FRAME_NAME_MAX], file[FRAME_FILE_MAX];
};

/* Write the frames that the calling thread runs, on a stack that ends at STACK_HIGH, to FRAMES, innermost
 * first, as frame_table.h has them, with a RUNTIME_ANCHOR behind those of each call of the evaluator that is among
 * NATIVE frames; such as are part of it are made 0. Returns how many words, at most MAX; none where the thread
 * runs no PHP.
 * Async-signal-safe: no lock, no allocation, and what is read is copied by the kernel. */
size_t php_walk(const struct php *php, struct php_work *work, const struct native_frames *native,
		uintptr_t stack_high, uintptr_t *frames, size_t max);

#endif
