/* Comparison of two profiles by functions. top calls it. */
#ifndef DECODER_COMMANDS_TOP_COMPARE_H
#define DECODER_COMMANDS_TOP_COMPARE_H

#include "decoder/commands/top_table.h"

/* Print PROFILE next to BASE: one row per function of either, the largest change first. Returns 0 or -ENOMEM. */
int top_compare_base(const struct top_output *output, const struct profile *profile,
		     const struct profile *base);

#endif
