/* Zips of the S3 reporter, and other zips with recordings. */
#include "decoder/input/unzip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zip.h>

#include "core/fd.h"
#include "decoder/output/message.h"
#include "decoder/output/temp_file.h"
#include "profile/jfr/labels.h"

#define METADATA_MAX (1u << 20)

/* Zip that stays open as long as one of its members is referenced. */
struct archive {
	struct source *packed;
	zip_t *zip;
	unsigned references; /* one for each member, and one for the opener */
	uint64_t recordings;
	uint64_t packed_bytes; /* of all recordings */
};

static bool name_is_recording(const char *name)
{
	size_t length = strlen(name);

	return length >= 4 && !strcmp(name + length - 4, ".jfr");
}

/* Unpack MEMBER into the unnamed file FD. Returns 0, -EBADMSG if it is damaged, -EFBIG if it is too large, or
 * -errno. */
static int archive_unpack_member(const struct archive *archive, uint64_t member, int fd)
{
	static const size_t size = 1 << 16;
	zip_file_t *file = zip_fopen_index(archive->zip, member, 0);
	uint64_t total = 0, limit;
	uint8_t *bytes = malloc(size);
	zip_stat_t stat;
	zip_int64_t n = 1;
	int err = 0;

	if (!file || !bytes)
		err = file ? -ENOMEM : -EBADMSG;
	limit = source_unpacked_max(zip_stat_index(archive->zip, member, 0, &stat) ? 0
										   : stat.comp_size,
				    archive->recordings);
	while (!err && n) {
		n = zip_fread(file, bytes, size);
		if (n > 0)
			err = fd_write(fd, bytes, (size_t)n, -1);
		total += n > 0 ? (uint64_t)n : 0;
		if (n < 0)
			err = -EBADMSG;
		else if (total > limit)
			err = -EFBIG;
	}
	/* zip_fclose() checks the checksum. */
	if (file && zip_fclose(file) && !err)
		err = -EBADMSG;
	free(bytes);
	return err;
}

static char *archive_read_labels(zip_t *zip)
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

/* Returns the offset of MEMBER's local header in the zip, or 0. The zip library does not return it, so
 * this searches for the header with MEMBER's name. */
static uint64_t archive_member_offset(const struct archive *archive, uint64_t member)
{
	const char *name = zip_get_name(archive->zip, member, ZIP_FL_ENC_RAW);
	const uint8_t *data = archive->packed->data, *end = data + archive->packed->length, *at;
	size_t length = name ? strlen(name) : 0;

	for (at = data; at && (size_t)(end - at) > 30 + length; at++) {
		at = memmem(at, (size_t)(end - at) - length, "PK\003\004", 4);
		if (!at || (size_t)(end - at) <= 30 + length)
			break;
		if (at[26] + 256u * at[27] == length && !memcmp(at + 30, name, length))
			return (uint64_t)(at - data);
	}
	return 0;
}

static void archive_print_member_error(const struct source *source, int err)
{
	const struct archive *archive = source->archive;
	const char *what = strerror(-err);

	if (err == -EBADMSG)
		what = "a damaged member of the zip";
	if (err == -EFBIG)
		what = "not read, as it unpacks to more than 32 times its size plus its share of "
		       "64 MiB; unzip it if you trust it";
	message_print("%s: offset %" PRIu64 ": %s", source->name,
		      archive_member_offset(archive, source->member), what);
}

/* Unpack SOURCE, a member. Returns 0, or -errno after a message with the zip, the member and its offset. */
static int archive_load_member(struct source *source)
{
	int fd = temp_file_create(), err;

	err = fd < 0 ? -errno : archive_unpack_member(source->archive, source->member, fd);
	if (!err)
		err = source_map_data(source, fd);
	if (err)
		archive_print_member_error(source, err);
	else
		source->labels = archive_read_labels(source->archive->zip);
	if (fd >= 0)
		close(fd);
	return err;
}

static void archive_release(struct archive *archive)
{
	if (--archive->references)
		return;
	if (archive->zip)
		zip_discard(archive->zip);
	source_close(archive->packed);
	free(archive);
}

static void archive_release_member(struct source *source)
{
	archive_release(source->archive);
}

/* Create the source of MEMBER at *TAIL. */
static int archive_add_member(struct archive *archive, uint64_t member, struct source **tail)
{
	struct source *source = calloc(1, sizeof(*source));
	zip_stat_t stat;

	if (!zip_stat_index(archive->zip, member, 0, &stat) &&
	    __builtin_add_overflow(archive->packed_bytes, stat.comp_size, &archive->packed_bytes))
		archive->packed_bytes = UINT64_MAX;
	archive->recordings++;
	if (!source || asprintf(&source->name, "%s(%s)", archive->packed->name,
				zip_get_name(archive->zip, member, 0)) < 0) {
		free(source);
		return -ENOMEM;
	}
	source->references = 1;
	source->archive = archive;
	source->member = member;
	source->load = archive_load_member;
	source->release = archive_release_member;
	archive->references++;
	*tail = source;
	return 0;
}

static zip_t *archive_open_zip(const struct source *packed)
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
		message_print("%s: offset 0: a damaged zip: %s", packed->name,
			      zip_error_strerror(&error));
	zip_error_fini(&error);
	return zip;
}

int unzip_recordings(struct source **source)
{
	struct archive *archive = calloc(1, sizeof(*archive));
	struct source *list = NULL, **tail = &list, *next;
	int err = archive ? 0 : -ENOMEM;

	if (!archive) {
		source_close(*source);
		goto out;
	}
	*archive = (struct archive){ .packed = *source, .references = 1 };
	archive->zip = archive_open_zip(*source);
	err = archive->zip ? 0 : -EBADMSG;
	for (zip_int64_t i = 0; !err && i < zip_get_num_entries(archive->zip, 0); i++) {
		const char *name = zip_get_name(archive->zip, (zip_uint64_t)i, 0);

		if (!name || !name_is_recording(name))
			continue;
		err = archive_add_member(archive, (uint64_t)i, tail);
		if (!err)
			tail = &(*tail)->next;
	}
	if (!err && archive->packed_bytes > archive->packed->length) {
		message_print("%s: offset 0: a damaged zip: its members overlap",
			      archive->packed->name);
		err = -EBADMSG;
	}
	if (!err && !list) {
		message_print("%s: no recording (.jfr) in this zip", archive->packed->name);
		err = -ENOENT;
	}
	archive_release(archive);
out:
	if (err == -ENOMEM)
		message_print("out of memory");
	for (; err && list; list = next) {
		next = list->next;
		source_close(list);
	}
	*source = list;
	return err;
}
