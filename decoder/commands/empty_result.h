/* Why a result is empty. */
#ifndef DECODER_COMMANDS_EMPTY_RESULT_H
#define DECODER_COMMANDS_EMPTY_RESULT_H

#include "decoder/commands/args.h"
#include "profile/aggregate/profile.h"

/* Say in a line what of the filters in ARGS took everything, or that nothing of METRICS, a mask of
 * 1 << enum metric, was recorded, and what there is instead. 0: no kind in particular. REST is said
 * where neither is so. The files are read once more. */
void empty_result_explain(const struct args *args, uint32_t metrics, const char *rest);

/* The same of PROFILE, which was read by ARGS, unless there is something in it. */
void empty_result_explain_profile(const struct profile *profile, const struct args *args);

#endif
