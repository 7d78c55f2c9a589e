/* Growable byte buffer with a maximum size. */
#ifndef CORE_BUF_H
#define CORE_BUF_H

#include <stddef.h>
#include <stdint.h>

/* Initialize with BUF_INIT; data is NULL until something is added. */
struct buf {
	uint8_t *data; /* malloc'd; owned by the buffer */
	size_t length;
	size_t capacity;
	size_t max; /* maximum of length */
	int err;    /* the first error of buf_reserve() and of the functions that call it, or 0 */
};

#define BUF_INIT(cap)        \
	{                    \
		.max = (cap) \
	}

/* Make room for MORE bytes after length. Returns 0, -ENOMEM, or -EFBIG beyond the maximum; on failure only
 * err changes. The next three functions return the same. buf_printf() needs room for a NUL, and may also return -EINVAL. */
int buf_reserve(struct buf *buf, size_t more);

int buf_append(struct buf *buf, const void *data, size_t length);
int buf_append_string(struct buf *buf, const char *string); /* without its NUL */
int buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Append the rest of the file FD, which may have no size, as in /proc. Returns 0 or -errno; what was read stays. */
int buf_append_file(struct buf *buf, int fd);

/* Return the content as a C string, valid until the next call. The NUL is not counted in length. NULL when there is
 * no room for the NUL. */
const char *buf_string(struct buf *buf);

/* Empty the buffer and clear err, but keep its memory. */
void buf_reset(struct buf *buf);

/* Free the memory, and clear err; the buffer may be used again. */
void buf_free(struct buf *buf);

#endif
