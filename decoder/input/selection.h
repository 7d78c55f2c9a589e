/* Which recordings are wanted: by --process, --host and --tag. */
#ifndef DECODER_INPUT_SELECTION_H
#define DECODER_INPUT_SELECTION_H

#include <stdbool.h>

#include "decoder/commands/args.h"

struct source;

/* Whether ARGS choose among recordings at all. */
bool selection_is_set(const struct args *args);

/* Whether SOURCE, which is loaded, is wanted. */
bool selection_has(const struct args *args, const struct source *source);

#endif
