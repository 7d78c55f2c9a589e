/* Comparison of functions, in columns: of two profiles, or of the parts of one. top calls it. */
#ifndef DECODER_COMMANDS_TOP_COMPARE_H
#define DECODER_COMMANDS_TOP_COMPARE_H

#include "decoder/commands/args.h"
#include "decoder/output/terminal.h"
#include "profile/aggregate/profile.h"

struct function;

/* Returns the name of FUNCTION, "[no stack]" if it has none. */
const char *top_function_name(const struct profile *profile, const struct function *function);

/* Print NAME and its MODULE in STYLE as the last columns of a line of WIDTH, after USED columns. */
void top_print_function(const char *name, const char *module, unsigned width, unsigned used,
			bool full_names, enum style style);

/* Settings of the output. */
struct top_compare {
	const struct args *args;
	enum metric metric;
	bool by_total;
	const char *unit;
	const struct losses *losses, *base_losses;
	unsigned width; /* of the terminal; 0: unknown */
};

/* Print PROFILE next to BASE: one row per function of either, the largest change first. Returns 0 or -ENOMEM. */
int top_compare_base(const struct top_compare *compare, const struct profile *profile,
		     const struct profile *base);

/* Print PROFILE by the values of the label ARGS->by: one column per value, the heaviest first. A sample's own labels
 * come before those of its recording. These are "host", "process", "executable", "group", "machine" and tags; "tag"
 * combines all tags. Returns 0 or -ENOMEM. */
int top_compare_by_label(const struct top_compare *compare, const struct profile *profile);

/* Print a line with the heaviest processes and their shares if PROFILE has samples of several. Returns 0 or -ENOMEM. */
int top_print_processes(const struct top_compare *compare, const struct profile *profile);

#endif
