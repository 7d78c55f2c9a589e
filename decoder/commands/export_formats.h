/* Formats of `export` that have commands of their own. */
#ifndef DECODER_COMMANDS_EXPORT_FORMATS_H
#define DECODER_COMMANDS_EXPORT_FORMATS_H

#include "decoder/commands/args.h"

/* Read the files of ARGS and write them to its output. Return a status, after a message. */
int collapsed_export(struct args *args);
int pprof_export(struct args *args);

#endif
