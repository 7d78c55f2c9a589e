/* What the commands have in common when they read all of their files into one result. Every function
 * returns COMMAND_OK, or COMMAND_FAILED after a line on stderr: what could be read is there all the
 * same. */
#ifndef DECODER_COMMANDS_COMMAND_INPUT_H
#define DECODER_COMMANDS_COMMAND_INPUT_H

#include "decoder/commands/args.h"
#include "profile/aggregate/heap.h"
#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"

/* PROFILE, freed by the caller, of the files of ARGS; METRICS is a mask of 1 << enum metric. */
int command_read_profile(struct profile *profile, const struct args *args, uint32_t metrics);

/* The same of what they are compared with. */
int command_read_base(struct profile *profile, const struct args *args, uint32_t metrics);

/* HEAP, whose own settings are filled in, of the files of ARGS. Freed by the caller. */
int command_read_heap(struct heap *heap, const struct args *args);

/* The libraries that the files of ARGS name; starts as {0}, freed by the caller. */
int command_read_libraries(struct libraries *libraries, const struct args *args);

/* What is left to be done after reading returned ERR, one of the results of profile_read: say that
 * memory has run out. Returns the status. */
int command_status_from_error(int err);

#endif
