/* Buffered output to a file; the first error is kept. */
#ifndef ENGINE_JFR_JFR_OUT_H
#define ENGINE_JFR_JFR_OUT_H

#include <stdint.h>
#include <sys/types.h>

#define JFR_OUT_BYTES (32u << 10)

struct jfr_out {
	int fd;
	int err;      /* the first error, or 0 */
	off_t offset; /* file offset of data[0] */
	uint32_t length;
	uint8_t data[JFR_OUT_BYTES];
};

/* File offset of the next byte. */
static inline off_t jfr_out_position(const struct jfr_out *out)
{
	return out->offset + out->length;
}

/* Continue at OFFSET; drops the buffer's contents and the error. */
void jfr_out_seek(struct jfr_out *out, off_t offset);

/* Write the buffer to the file. Returns 0 or the first error. */
int jfr_out_flush(struct jfr_out *out);

/* Reserve LENGTH bytes, JFR_OUT_BYTES at most. Returns NULL after an error. The bytes are part of
 * the output after jfr_out_commit(), which gets their end. */
uint8_t *jfr_out_room(struct jfr_out *out, size_t length);

static inline void jfr_out_commit(struct jfr_out *out, const uint8_t *end)
{
	out->length = (uint32_t)(end - out->data);
}

/* Reserve, write and commit. They do nothing after an error. */
void jfr_out_varint(struct jfr_out *out, uint64_t value);
void jfr_out_string(struct jfr_out *out,
		    const char *string); /* UTF-8, cut; NULL is written as null */
void jfr_out_bytes(struct jfr_out *out, const void *data, size_t length);

/* Overwrite LENGTH bytes at OFFSET, which have been flushed. */
void jfr_out_patch(struct jfr_out *out, const void *data, size_t length, off_t offset);

#endif
