/* Explanation of an empty result. */
#ifndef DECODER_COMMANDS_EMPTY_RESULT_H
#define DECODER_COMMANDS_EMPTY_RESULT_H

#include "decoder/commands/args.h"
#include "profile/aggregate/profile.h"

/* Print why a result is empty: which filter excludes everything, or that no sample of METRICS was recorded,
 * which setting records it, and the samples instead. METRICS is a mask of 1 << enum metric; 0: any.
 * DEFAULT_TEXT is printed if there is no other reason. Reads the files again. Returns whether no sample of
 * METRICS was recorded. */
bool empty_result_explain(const struct args *args, uint32_t metrics, const char *default_text);

/* The same for PROFILE, which was read with ARGS, unless it has samples. */
void empty_result_explain_profile(const struct profile *profile, const struct args *args);

#endif
