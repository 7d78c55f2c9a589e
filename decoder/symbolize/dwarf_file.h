/* File that libdw reads, with a memory limit. */
#ifndef DECODER_SYMBOLIZE_DWARF_FILE_H
#define DECODER_SYMBOLIZE_DWARF_FILE_H

#include <stddef.h>

#include "decoder/symbolize/dwarf_library.h"

struct dwarf_file {
	int fd; /* negative: not open */
	Dwarf *dwarf;
	size_t unpacked; /* memory for compressed sections, which libdw decompresses at once */
};

#define DWARF_FILE_CLOSED \
	{                 \
		.fd = -1  \
	}

/* Open the file at PATH if its sections decompress to at most ROOM bytes; else print a message with NAME (NULL: none).
 * Returns 0 or -errno. dwarf_file_close() may be called in both cases. */
int dwarf_file_open(struct dwarf_file *file, const struct dwarf_library *lib, const char *path,
		    size_t room, const char *name);
void dwarf_file_close(struct dwarf_file *file, const struct dwarf_library *lib);

#endif
