/* A file that libdw reads, with a bound on the memory that this takes. */
#ifndef DECODER_SYMBOLIZE_DWARF_FILE_H
#define DECODER_SYMBOLIZE_DWARF_FILE_H

#include <stddef.h>

#include "decoder/symbolize/dwarf_library.h"

struct dwarf_file {
	int fd; /* negative: not open */
	Dwarf *dwarf;
	size_t unpacked; /* memory that packed sections take, which libdw unpacks at once */
};

#define DWARF_FILE_CLOSED \
	{                 \
		.fd = -1  \
	}

/* Open the file at PATH where it unpacks to no more than ROOM bytes; if it would, that is said, for
 * NAME unless that is NULL. Returns 0, or -errno; dwarf_file_close() is fine either way. */
int dwarf_file_open(struct dwarf_file *file, const struct dwarf_library *lib, const char *path,
		    size_t room, const char *name);
void dwarf_file_close(struct dwarf_file *file, const struct dwarf_library *lib);

#endif
