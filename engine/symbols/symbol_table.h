/* A batch of addresses against one pass over a symbol table. */
#ifndef ENGINE_SYMBOLS_SYMBOL_TABLE_H
#define ENGINE_SYMBOLS_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/elf/elf.h"

/* A function symbol that may be the answer. */
struct symbol_candidate {
	uint64_t start, size;
	uint32_t name; /* in the string table */
	uint16_t section;
	uint8_t rank; /* of those that start together the highest is taken */
	bool global, set;
};

struct symbol_match {
	uint64_t address; /* asked for: a link address */
	uint64_t begin;   /* where its function does, where that is known by the code; 0: not */

	/* The answer, once found. */
	bool found;
	bool plt;   /* a stub: "@plt" follows the name */
	bool named; /* its name has been told */
	uint32_t name;
	uint64_t start;
	uint64_t resolver; /* a stub's that has the name of the function here; 0: of none */

	struct symbol_candidate covering; /* the innermost symbol whose size reaches here */
	struct symbol_candidate nearest;  /* the last symbol that starts at or before */
	uint64_t ended;                   /* where the last sized symbol ended before here */
};

/* Answer those of MATCHES, sorted by address, that are not found yet, from TABLE with the names
 * in STRINGS. A symbol with a size is the answer within its size only; one without (assembler)
 * reaches to where the next or a function by itself begins or another ends, within its section. Of aliases a function is
 * taken over a label, a global name over a local one, then the one with fewer underscores in front,
 * then the shorter. Returns 0 or -errno; after an error no answer comes from this table. */
int symbol_table_match(struct elf *elf, const Elf64_Shdr *table, const Elf64_Shdr *strings,
		       struct symbol_match *matches, size_t count);

#endif
