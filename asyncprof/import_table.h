/* Changes what a library calls: its own import table, and nobody else's. */
#ifndef ASYNCPROF_IMPORT_TABLE_H
#define ASYNCPROF_IMPORT_TABLE_H

#include <stddef.h>

struct import {
	const char *name;
	void *function; /* to be called instead */
};

/* In the library that INSIDE points into, let each function of IMPORTS that it imports stand for
 * the one it was bound to. The library must be bound already (RTLD_NOW), and not be unloaded.
 * Returns 0, -ENOENT when INSIDE is in no library, or -errno; some may be changed by then. */
int import_table_redirect(const void *inside, const struct import *imports, size_t count);

/* Of that library: put what it calls by each of NAMES into BOUND, NULL where it does not import that. Returns 0, or
 * -ENOENT when INSIDE is in none. */
int import_table_read(const void *inside, const char *const *names, void **bound, size_t count);

#endif
