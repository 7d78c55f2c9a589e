/* Where Perl keeps what a walk looks for, as far as it differs by version. */
#ifndef ENGINE_RUNTIME_PERL_LAYOUT_H
#define ENGINE_RUNTIME_PERL_LAYOUT_H

#include <stdint.h>

/* Offsets in bytes. What has been the same since Perl 5.32 stands in perl_walk.c and perl_names.c. */
struct perl_layout {
	uint8_t version; /* 36: of 5.36 */

	/* Of an interpreter, where there may be several: PL_curstackinfo and PL_curcop. */
	uint16_t own_stack, own_statement;

	/* Of the fields of a hash: where the rest of them is, with its name; 0: behind its array. */
	uint8_t hash_rest;

	/* Numbers of the operations that begin a statement. */
	uint16_t statement, statement_debugged;
};

/* The layout of VERSION; NULL where it is not known. */
const struct perl_layout *perl_layout_known(uint8_t version);

#endif
