/* Zips, as the S3 reporter makes them, or as anybody else packs recordings. */
#include "decoder/unzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zip.h>

#include "core/fd.h"
#include "decoder/labels.h"
#include "decoder/say.h"

/* No recording of ours comes near; a zip that claims more is a trap. */
#define MEMBER_MAX   ((uint64_t)16 << 30)
#define METADATA_MAX (1u << 20)

static bool is_recording(const char *name)
{
	size_t length = strlen(name);

	return length >= 4 && !strcmp(name + length - 4, ".jfr");
}

/* Unpack member INDEX into a new unnamed file. Returns it, or -errno. */
static int unpack(zip_t *zip, zip_uint64_t index)
{
	static const size_t size = 1 << 16;
	zip_file_t *file = zip_fopen_index(zip, index, 0);
	uint8_t *bytes = malloc(size);
	int fd = file ? source_spare_file() : -1, err = 0;
	uint64_t total = 0;
	zip_int64_t n = 1;

	if (!file || !bytes)
		err = file ? -ENOMEM : -EBADMSG;
	else if (fd < 0)
		err = -errno;
	while (!err && n) {
		n = zip_fread(file, bytes, size);
		if (n > 0)
			err = fd_write(fd, bytes, (size_t)n, -1);
		total += n > 0 ? (uint64_t)n : 0;
		if (n < 0)
			err = -EBADMSG;
		else if (total > MEMBER_MAX)
			err = -EFBIG;
	}
	/* A wrong checksum comes out here. */
	if (file && zip_fclose(file) && !err)
		err = -EBADMSG;
	free(bytes);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static char *read_labels(zip_t *zip)
{
	zip_int64_t index = zip_name_locate(zip, "metadata.json", 0);
	zip_file_t *file = index < 0 ? NULL : zip_fopen_index(zip, (zip_uint64_t)index, 0);
	char *text = malloc(METADATA_MAX + 1), *labels = NULL;
	zip_int64_t n;

	if (file && text) {
		n = zip_fread(file, text, METADATA_MAX);
		if (n > 0) {
			text[n] = '\0';
			labels = labels_from_metadata(text);
		}
	}
	if (file)
		zip_fclose(file);
	free(text);
	return labels;
}

/* Add member INDEX to the list at *TAIL. */
static int add_member(zip_t *zip, zip_uint64_t index, const struct source *packed,
		      struct source **tail)
{
	const char *member = zip_get_name(zip, index, 0);
	int fd = unpack(zip, index), err;
	char *name = NULL;

	if (fd < 0) {
		say("%s: member %s cannot be unpacked: %s", packed->name, member, strerror(-fd));
		return fd;
	}
	err = asprintf(&name, "%s(%s)", packed->name, member) < 0 ? -ENOMEM
								  : source_map(tail, name, fd);
	if (err)
		say("%s: %s", packed->name, strerror(-err));
	else
		(*tail)->labels = read_labels(zip);
	if (name)
		free(name);
	close(fd);
	return err;
}

static zip_t *open_zip(const struct source *packed)
{
	zip_error_t error;
	zip_source_t *bytes;
	zip_t *zip = NULL;

	zip_error_init(&error);
	bytes = zip_source_buffer_create(packed->data, packed->length, 0, &error);
	if (bytes)
		zip = zip_open_from_source(bytes, ZIP_RDONLY, &error);
	if (bytes && !zip)
		zip_source_free(bytes);
	if (!zip)
		say("%s: offset 0: a damaged zip: %s", packed->name, zip_error_strerror(&error));
	zip_error_fini(&error);
	return zip;
}

int unzip_recordings(struct source **source)
{
	struct source *packed = *source, *list = NULL, **tail = &list, *next;
	zip_t *zip = open_zip(packed);
	zip_int64_t count = zip ? zip_get_num_entries(zip, 0) : 0;
	int err = zip ? 0 : -EBADMSG;

	for (zip_int64_t i = 0; i < count && !err; i++) {
		const char *name = zip_get_name(zip, (zip_uint64_t)i, 0);

		if (!name || !is_recording(name))
			continue;
		err = add_member(zip, (zip_uint64_t)i, packed, tail);
		if (!err)
			tail = &(*tail)->next;
	}
	if (!err && !list) {
		say("%s: no recording (.jfr) in this zip", packed->name);
		err = -ENOENT;
	}
	if (zip)
		zip_discard(zip);
	source_close(packed);
	for (; err && list; list = next) {
		next = list->next;
		source_close(list);
	}
	*source = list;
	return err;
}
