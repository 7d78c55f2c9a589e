/* Offsets in Perl's structures that differ by version. */
#ifndef ENGINE_RUNTIME_PERL_LAYOUT_H
#define ENGINE_RUNTIME_PERL_LAYOUT_H

#include <stdint.h>

/* Offsets in bytes. Offsets that are constant since Perl 5.32 are in perl_walk.c and perl_names.c. */
struct perl_layout {
	uint8_t version; /* 36: of 5.36 */

	/* Interpreter, if there may be several: PL_curstackinfo and PL_curcop. */
	uint16_t own_stack, own_statement;

	/* Fields of a hash: offset of the auxiliary part, which holds its name; 0: that part follows its array. */
	uint8_t hash_rest;

	/* Numbers of the operations that start a statement. */
	uint16_t statement, statement_debugged;
};

/* The layout of VERSION; NULL if it is not known. */
const struct perl_layout *perl_layout_known(uint8_t version);

#endif
