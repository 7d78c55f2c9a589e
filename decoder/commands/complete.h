/* Words for shell completion. */
#ifndef DECODER_COMMANDS_COMPLETE_H
#define DECODER_COMMANDS_COMPLETE_H

#include "decoder/commands/commands.h"

/* Returns the command NAME of the ROWS commands at COMMANDS; NULL: there is none. */
const struct command *command_find(const struct command *commands, size_t rows, const char *name);

/* Print the possible next words, one per line, after the COUNT words at WORDS, which follow the program's name. They
 * are names of the ROWS commands at COMMANDS, switches, values of a switch, process IDs, and commands after a process
 * ID. The shell's function selects among them, and adds files. */
void complete_print(const struct command *commands, size_t rows, char **words, int count);

#endif
