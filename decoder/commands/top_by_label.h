/* Comparison of the parts of a profile that have different labels. top calls it. */
#ifndef DECODER_COMMANDS_TOP_BY_LABEL_H
#define DECODER_COMMANDS_TOP_BY_LABEL_H

#include "decoder/commands/top_table.h"

/* Print PROFILE by the values of the label ARGS->by: one column per value, the heaviest first. A sample's own labels
 * come before those of its recording. These are "host", "process", "executable", "group", "machine" and tags; "tag"
 * combines all tags. Returns 0 or -ENOMEM. */
int top_by_label(const struct top_output *output, const struct profile *profile);

/* Print a line with the heaviest processes and their shares if PROFILE has samples of several. Returns 0 or -ENOMEM. */
int top_print_processes(const struct top_output *output, const struct profile *profile);

#endif
