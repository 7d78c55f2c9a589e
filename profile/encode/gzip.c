/* Gzip stream writer, into a file or a buffer. */
#include "profile/encode/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <zlib.h>

#define WINDOW_BITS_GZIP 16 /* added to the window bits, it selects gzip's header (zlib.h) */

struct gzip {
	z_stream stream;
	FILE *file; /* NULL: output goes to buf */
	struct buf *buf;
	uint8_t out[1 << 16];
};

int gzip_open(struct gzip **out, FILE *file, struct buf *buf)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return -ENOMEM;
	gzip->file = file;
	gzip->buf = buf;
	if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
			 MAX_WBITS | WINDOW_BITS_GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return -ENOMEM;
	}
	*out = gzip;
	return 0;
}

static int gzip_flush_output(struct gzip *gzip, size_t length)
{
	if (!gzip->file)
		return buf_append(gzip->buf, gzip->out, length);
	if (fwrite(gzip->out, 1, length, gzip->file) != length)
		return errno ? -errno : -EIO;
	return 0;
}

static int gzip_deflate(struct gzip *gzip, int flush)
{
	int status, err;

	do {
		gzip->stream.next_out = gzip->out;
		gzip->stream.avail_out = sizeof(gzip->out);
		status = deflate(&gzip->stream, flush);
		err = gzip_flush_output(gzip, sizeof(gzip->out) - gzip->stream.avail_out);
		if (err)
			return err;
	} while (status == Z_OK && (gzip->stream.avail_in || flush == Z_FINISH));
	return 0;
}

int gzip_write(struct gzip *gzip, const void *data, size_t length)
{
	gzip->stream.next_in = (void *)data;
	gzip->stream.avail_in = (uInt)length;
	return length ? gzip_deflate(gzip, Z_NO_FLUSH) : 0;
}

int gzip_close(struct gzip *gzip)
{
	int err = gzip_deflate(gzip, Z_FINISH);

	deflateEnd(&gzip->stream);
	free(gzip);
	return err;
}
