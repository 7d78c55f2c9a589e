/* Offsets in Perl's structures that differ by version.
 *
 * The table holds offsetof() results from the headers of 5.32.1, 5.34.1, 5.36.0, 5.38.2, 5.40.1 and
 * 5.42.3, for 64 bits, as configured by Debian: struct interpreter of intrpvar.h, struct
 * xpvhv_with_aux of hv.h, and the numbers of opnames.h. */
#include "engine/runtime/perl/perl_layout.h"

#include <stddef.h>

/* clang-format off */
static const struct perl_layout known[] = {
	{ .version = 32, .own_stack = 240, .own_statement = 224,
	  .statement = 195, .statement_debugged = 196 },
	{ .version = 34, .own_stack = 224, .own_statement = 208,
	  .statement = 195, .statement_debugged = 196 },
	{ .version = 36, .own_stack = 224, .own_statement = 208, .hash_rest = 32,
	  .statement = 195, .statement_debugged = 196 },
	{ .version = 38, .own_stack = 224, .own_statement = 208, .hash_rest = 32,
	  .statement = 198, .statement_debugged = 199 },
	{ .version = 40, .own_stack = 224, .own_statement = 208, .hash_rest = 32,
	  .statement = 198, .statement_debugged = 199 },
	{ .version = 42, .own_stack = 224, .own_statement = 208, .hash_rest = 32,
	  .statement = 202, .statement_debugged = 203 },
};
/* clang-format on */

const struct perl_layout *perl_layout_known(uint8_t version)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].version == version)
			return &known[i];
	return NULL;
}
