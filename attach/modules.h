/* List of the modules of a program that has no dynamic linker. */
#ifndef ATTACH_MODULES_H
#define ATTACH_MODULES_H

#include <stdbool.h>
#include <stdint.h>

struct r_debug;

/* Return the list, as a dynamic linker has it: the program and the vDSO. Before any other thread calls it. */
const struct r_debug *attach_modules(void);

/* True when a linker has put the note NAME of TYPE into the program. */
bool attach_program_has_note(const char *name, uint32_t type);

#endif
