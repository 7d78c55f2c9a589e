/* What file is mapped at an address, as /proc/self/maps tells. */
#ifndef ENGINE_PROCESS_MAPPED_FILE_H
#define ENGINE_PROCESS_MAPPED_FILE_H

#include <stdint.h>
#include <stdio.h>

struct mapped_file {
	char *path;      /* to be freed */
	uintptr_t start; /* where its beginning is mapped, at or below the address; 0: nowhere */
};

/* Returns 0, -ENOENT when no file is mapped at ADDRESS, or -errno. */
int mapped_file_at(struct mapped_file *file, uintptr_t address);

/* Likewise from MAPS, text of that form, of which a line may be anything. */
int mapped_file_find(struct mapped_file *file, FILE *maps, uintptr_t address);

#endif
