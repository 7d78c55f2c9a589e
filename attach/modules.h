/* List of the modules of a program. */
#ifndef ATTACH_MODULES_H
#define ATTACH_MODULES_H

#include <stdbool.h>
#include <stdint.h>

struct r_debug;

/* Return the list of the program's dynamic linker. If it has none: the program and the vDSO. Before any other thread calls
 * it. */
const struct r_debug *attach_modules(void);

/* True when a linker has put the note NAME of TYPE into the program. */
bool attach_program_has_note(const char *name, uint32_t type);

/* True when the program's file has the section NAME. False if it cannot be read. */
bool attach_program_has_section(const char *name);

#endif
