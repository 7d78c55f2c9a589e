/* Search of /proc/self/maps. */
#include "engine/process/mapped_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/process/proc_file.h"

struct mapping {
	unsigned long start, end, offset, inode;
	unsigned major, minor;
};

static bool mapping_same_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

int mapped_file_find(struct mapped_file *file, FILE *maps, uintptr_t address)
{
	struct mapping mapping, first = { .start = 0 };
	char *line = NULL, *path;
	size_t size = 0;
	int err = -ENOENT;

	while (getline(&line, &size, maps) > 0) {
		if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu", &mapping.start, &mapping.end,
			   &mapping.offset, &mapping.major, &mapping.minor, &mapping.inode) != 6)
			continue;
		if (!mapping.offset)
			first = mapping;
		if (mapping.end <= address)
			continue;
		path = mapping.start <= address ? strchr(line, '/') : NULL;
		if (!path)
			break;
		path[strcspn(path, "\n")] = '\0';
		file->path = strdup(path);
		file->start = mapping_same_file(&first, &mapping) ? first.start : 0;
		err = file->path ? 0 : -ENOMEM;
		break;
	}
	free(line);
	return err;
}

int mapped_file_at(struct mapped_file *file, uintptr_t address)
{
	FILE *maps = proc_file_open("/proc/self/maps");
	int err;

	if (!maps)
		return -errno;
	err = mapped_file_find(file, maps, address);
	fclose(maps);
	return err;
}
