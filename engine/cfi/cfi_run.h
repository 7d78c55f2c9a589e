/* The machine that call frame instructions drive. Async-signal-safe. */
#ifndef ENGINE_CFI_CFI_RUN_H
#define ENGINE_CFI_CFI_RUN_H

#include "engine/cfi/cfi_state.h"

/* What the entries of one compilation have in common. */
struct cie {
	uint64_t offset; /* within .eh_frame */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool signal, augmented, valid;
	struct state initial;
};

/* Compilers nest one deep; and a handler has its run on the stack of who is sampled. */
#define STATES_MAX 4

/* One pass over an entry's instructions, of which those to come are at C. */
struct run {
	struct cursor c;
	const struct cie *cie;
	const struct cfi_source *source;
	struct state state;
	struct state stack[STATES_MAX];
	size_t depth;
	bool outermost; /* its code is what the source calls so */
};

/* Carry out instructions up to the next place. Returns false at the end of them, or true with
 * how far the place moves in *ADVANCE. An unknown instruction ends the entry: what follows
 * cannot be told. */
bool run_to_next_location(struct run *run, uint64_t location, uint64_t *advance);

/* The rule for the place where it is. */
struct unwind_rule run_rule(const struct run *run);

#endif
