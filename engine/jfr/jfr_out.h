/* Bytes to a file through a small buffer; the first error sticks. */
#ifndef ENGINE_JFR_JFR_OUT_H
#define ENGINE_JFR_JFR_OUT_H

#include <stdint.h>
#include <sys/types.h>

#define JFR_OUT_BYTES (32u << 10)

struct jfr_out {
	int fd;
	int err;      /* the first error, or 0 */
	off_t offset; /* in the file, of data[0] */
	uint32_t length;
	uint8_t data[JFR_OUT_BYTES];
};

/* Where the next byte will stand in the file. */
static inline off_t jfr_out_position(const struct jfr_out *out)
{
	return out->offset + out->length;
}

/* Go to OFFSET, forgetting what is in the buffer and the error. */
void jfr_out_seek(struct jfr_out *out, off_t offset);

/* Hand the buffer to the file. Returns 0 or the sticky error. */
int jfr_out_flush(struct jfr_out *out);

/* Room for LENGTH bytes, JFR_OUT_BYTES at most, or NULL after an error. What is written there
 * counts once jfr_out_commit is told its end. */
uint8_t *jfr_out_room(struct jfr_out *out, size_t length);

static inline void jfr_out_commit(struct jfr_out *out, const uint8_t *end)
{
	out->length = (uint32_t)(end - out->data);
}

/* The same in one step. After an error they do nothing. */
void jfr_out_varint(struct jfr_out *out, uint64_t value);
void jfr_out_string(struct jfr_out *out, const char *string); /* UTF-8, cut; NULL is null */
void jfr_out_bytes(struct jfr_out *out, const void *data, size_t length);

/* Overwrite LENGTH bytes at OFFSET, which have been flushed. */
void jfr_out_patch(struct jfr_out *out, const void *data, size_t length, off_t offset);

#endif
