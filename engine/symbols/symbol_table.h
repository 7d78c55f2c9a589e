/* Resolves a batch of addresses in one pass over a symbol table. */
#ifndef ENGINE_SYMBOLS_SYMBOL_TABLE_H
#define ENGINE_SYMBOLS_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/elf/elf.h"

/* A function symbol that may be the answer. */
struct symbol_candidate {
	uint64_t start, size;
	uint32_t name; /* offset in the string table */
	uint16_t section;
	uint8_t rank; /* of aliases, the highest rank wins */
	bool global, set;
};

struct symbol_match {
	uint64_t address; /* the requested link address */
	uint64_t begin;   /* start of its function, if known from the code; else 0 */
	bool is_data;     /* it is in a variable: functions and labels are no answer */

	/* The answer, valid if found is true. */
	bool found;
	bool is_plt;   /* in a stub: "@plt" follows the name */
	bool is_named; /* its name was reported */
	uint32_t name;
	uint64_t start;    /* not found: start of the function by its unwind entry, or 0 */
	uint64_t resolver; /* for a stub: the resolver whose function name is needed; else 0 */

	struct symbol_candidate covering; /* the innermost symbol whose size includes the address */
	struct symbol_candidate nearest;  /* the last symbol that starts at or before it */
	uint64_t ended;                   /* end of the last sized symbol before it */
};

/* Answer those of MATCHES, sorted by address, that are not found yet, from TABLE with the names in
 * STRINGS. A symbol with a size covers only its size. A symbol without a size (assembler) extends
 * to the next symbol, to a function start, or to the end of another symbol, within its section. Of
 * aliases, a function wins over a label, a global name over a local one, then fewer leading
 * underscores, then the shorter name. Returns 0 or -errno; after an error, no match has an answer
 * from this table. */
int symbol_table_match(struct elf *elf, const Elf64_Shdr *table, const Elf64_Shdr *strings,
		       struct symbol_match *matches, size_t count);

#endif
