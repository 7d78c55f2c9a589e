/* The import table of a library: which functions it calls. */
#ifndef ASYNCPROF_IMPORT_TABLE_H
#define ASYNCPROF_IMPORT_TABLE_H

#include <stddef.h>

struct import {
	const char *name;
	void *function; /* replacement */
};

/* Replace the functions of IMPORTS that the library imports; INSIDE points into the library. It must be bound
 * (RTLD_NOW), and must not be unloaded. Returns 0, -ENOENT when INSIDE is in no library, or -errno; then some may be
 * replaced. */
int import_table_redirect(const void *inside, const struct import *imports, size_t count);

/* Set BOUND to the functions that the library calls for NAMES; NULL if it does not import the function. Returns 0, or
 * -ENOENT when INSIDE is in no library. */
int import_table_read(const void *inside, const char *const *names, void **bound, size_t count);

#endif
