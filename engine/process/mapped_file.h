/* File that is mapped at an address, according to /proc/self/maps. */
#ifndef ENGINE_PROCESS_MAPPED_FILE_H
#define ENGINE_PROCESS_MAPPED_FILE_H

#include <stdint.h>
#include <stdio.h>

struct mapped_file {
	char *path; /* the caller frees it */
	uintptr_t
		start; /* address of the mapping of file offset 0, at or below the searched address; 0: not mapped */
};

/* Find the file that is mapped at ADDRESS. Returns 0, -ENOENT if there is none, or -errno. */
int mapped_file_at(struct mapped_file *file, uintptr_t address);

/* Same, but read from MAPS, a stream in the format of that file; malformed lines are skipped. */
int mapped_file_find(struct mapped_file *file, FILE *maps, uintptr_t address);

#endif
