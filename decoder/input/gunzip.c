/* Recordings compressed with gzip: one member, or several in a row (RFC 1952). */
#include "decoder/input/gunzip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "core/fd.h"
#include "decoder/output/message.h"
#include "decoder/output/temp_file.h"

#define BLOCK (1u << 16)

/* Window bits for zlib: 15, plus 16 to expect a gzip header. */
#define WINDOW (15 + 16)

/* Give Z the next block of input; advance *AT. */
static void zlib_set_input(z_stream *z, const struct source *packed, uint64_t *at)
{
	uint64_t left = packed->length - *at;

	z->next_in = (Bytef *)packed->data + *at;
	z->avail_in = left < BLOCK ? (uInt)left : BLOCK;
	*at += z->avail_in;
}

/* Unpack PACKED into FD. *AT is the offset up to which input was read. */
static int gzip_unpack(const struct source *packed, int fd, uint64_t *at)
{
	uint64_t most = source_unpacked_max(packed->length, 1), total = 0;
	uint8_t *out = malloc(BLOCK);
	z_stream z = { 0 };
	int err = 0, status = Z_OK;

	if (!out || inflateInit2(&z, WINDOW) != Z_OK) {
		free(out);
		return -ENOMEM;
	}
	while (!err && !(status == Z_STREAM_END && !z.avail_in && *at == packed->length)) {
		if (!z.avail_in)
			zlib_set_input(&z, packed, at);
		if (status == Z_STREAM_END)
			inflateReset(&z);
		z.next_out = out;
		z.avail_out = BLOCK;
		status = inflate(&z, Z_NO_FLUSH);
		if (status != Z_OK && status != Z_STREAM_END)
			err = status == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
		total += BLOCK - z.avail_out;
		if (!err && total > most)
			err = -EFBIG;
		if (!err)
			err = fd_write(fd, out, BLOCK - z.avail_out, -1);
	}
	*at -= z.avail_in;
	inflateEnd(&z);
	free(out);
	return err;
}

int gunzip_recording(struct source **source)
{
	struct source *packed = *source;
	int fd = temp_file_create(), err;
	uint64_t at = 0;

	*source = NULL;
	err = fd < 0 ? -errno : gzip_unpack(packed, fd, &at);
	if (!err)
		err = source_create(source, packed->name, fd);
	if (err == -EBADMSG)
		message_print("%s: offset %" PRIu64 ": a damaged gzip", packed->name, at);
	else if (err == -EFBIG)
		message_print("%s: offset %" PRIu64
			      ": not read, as it unpacks to more than 32 times its size plus 64 "
			      "MiB; gunzip it if you trust it",
			      packed->name, at);
	else if (err)
		message_print("%s: %s", packed->name, strerror(-err));
	if (fd >= 0)
		close(fd);
	source_close(packed);
	return err;
}
