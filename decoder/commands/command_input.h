/* Input of a command: all of its files read into one result. Every function returns COMMAND_OK, or
 * COMMAND_FAILED after a message; then the result has what could be read. */
#ifndef DECODER_COMMANDS_COMMAND_INPUT_H
#define DECODER_COMMANDS_COMMAND_INPUT_H

#include "decoder/commands/args.h"
#include "profile/aggregate/heap.h"
#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"

/* Read PROFILE from the files of ARGS. METRICS is a mask of 1 << enum metric. Release with profile_free(). */
int command_read_profile(struct profile *profile, const struct args *args, uint32_t metrics);

/* Likewise, read the base of a comparison. */
int command_read_base(struct profile *profile, const struct args *args, uint32_t metrics);

/* Read HEAP, whose own settings are filled in. Release with heap_free(). */
int command_read_heap(struct heap *heap, const struct args *args);

/* Read the libraries in the files of ARGS. LIBRARIES starts as {0}. Release with libraries_free(). */
int command_read_libraries(struct libraries *libraries, const struct args *args);

/* Print a message if the recordings lost samples. The functions above also do so. */
void command_print_losses(const struct args *args, const struct losses *losses);

/* Convert ERR, a result of profile_read(), to a status. Prints a message when out of memory. */
int command_status_from_error(int err);

#endif
