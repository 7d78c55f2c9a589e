/* One mapped recording. */
#include "decoder/input/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/bucket/object_name.h"
#include "profile/jfr/labels.h"

int source_map_data(struct source *source, int fd)
{
	struct stat status;
	void *data = NULL;

	if (fstat(fd, &status))
		return -errno;
	if (status.st_size) {
		data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED)
			return -errno;
		madvise(data, (size_t)status.st_size, MADV_SEQUENTIAL);
	}
	source->data = data;
	source->length = (uint64_t)status.st_size;
	source->is_loaded = true;
	return 0;
}

int source_create(struct source **out, const char *name, int fd)
{
	struct source *source = calloc(1, sizeof(*source));
	int err = source ? 0 : -ENOMEM;

	if (!err) {
		source->references = 1;
		source->name = strdup(name);
		err = source->name ? source_map_data(source, fd) : -ENOMEM;
	}
	if (err && source)
		source_close(source);
	else if (!err)
		*out = source;
	return err;
}

void source_close(struct source *source)
{
	if (source->data)
		munmap((void *)source->data, source->length);
	if (source->release)
		source->release(source);
	free(source->name);
	free(source->labels);
	free(source);
}

/* Append the group and machine in the upload's name to the labels. */
static void source_add_name_labels(struct source *source)
{
	size_t length = labels_file_path_length(source->name);
	char *name = strndup(source->name, length), *all = NULL;
	const char *labels = source->labels ? source->labels : "";
	struct object_name name_parts;

	if (name && object_name_parse(&name_parts, name) &&
	    asprintf(&all, "%sgroup=%.*s\n%s%.*s%s", labels, (int)name_parts.group_length,
		     name_parts.group, name_parts.machine_length ? "machine=" : "",
		     (int)name_parts.machine_length, name_parts.machine,
		     name_parts.machine_length ? "\n" : "") >= 0) {
		free(source->labels);
		source->labels = all;
	}
	free(name);
}

int source_load(struct source *source)
{
	int err = source->is_loaded ? 0 : source->load(source);

	if (!err && !source->has_labels && !source->labels)
		source->labels = labels_from_recording(source->data, source->length);
	if (!err && !source->has_labels)
		source_add_name_labels(source);
	source->has_labels = !err;
	return err;
}

uint64_t source_unpacked_max(uint64_t packed, uint64_t files)
{
	return (64u << 20) / files + (packed < UINT64_MAX / 64 ? packed * 32 : UINT64_MAX / 2);
}
