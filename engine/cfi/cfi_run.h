/* Interpreter of call frame instructions. Async-signal-safe. */
#ifndef ENGINE_CFI_CFI_RUN_H
#define ENGINE_CFI_CFI_RUN_H

#include "engine/cfi/cfi_state.h"

/* Common information entry (CIE), which several entries share. */
struct cie {
	uint64_t offset; /* within .eh_frame */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool signal, augmented, valid;
	struct state initial;
};

/* Compilers nest one deep; and a handler runs the interpreter on the sampled thread's stack. */
#define STATES_MAX 4

/* One pass over an entry's instructions; C is at the next one. */
struct run {
	struct cursor c;
	const struct cie *cie;
	const struct cfi_source *source;
	struct state state;
	struct state stack[STATES_MAX];
	size_t depth;
	bool outermost; /* the code is the source's outermost frame */
};

/* Execute instructions up to the next advance of the location. Returns false at the end, or true
 * with the advance in *ADVANCE. An unknown instruction ends the entry, because its length is
 * unknown. */
bool run_to_next_location(struct run *run, uint64_t location, uint64_t *advance);

/* The rule for the current location. */
struct unwind_rule run_rule(const struct run *run);

#endif
