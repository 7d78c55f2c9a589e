/* Functions side by side: what each has of the weight in several columns, of one profile or of two. */
#ifndef DECODER_COMMANDS_TOP_COMPARE_H
#define DECODER_COMMANDS_TOP_COMPARE_H

#include "decoder/commands/args.h"
#include "profile/aggregate/profile.h"

/* What top prints of PROFILE and, as TOP is asked to, of another one or of its parts. */
struct compare {
	const struct args *args;
	enum metric metric;
	bool by_total;
	const char *unit;
	unsigned width; /* of the terminal; 0: none */
};

/* PROFILE beside BASE: a row for each function that either has, that whose share has changed most first.
 * Returns 0 or -ENOMEM. */
int top_compare_base(const struct compare *compare, const struct profile *profile,
		     const struct profile *base);

/* PROFILE split by what its samples say of ARGS->by, a label's key, or else their recordings, of which "host",
 * "process", "executable", "group" and "machine" are told, and tags, by name or all together as "tag": a column for each
 * value, that with most of the weight first. Returns 0 or -ENOMEM. */
int top_compare_by_label(const struct compare *compare, const struct profile *profile);

#endif
