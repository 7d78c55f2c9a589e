/* A byte buffer that grows up to a stated cap. */
#ifndef CORE_BUF_H
#define CORE_BUF_H

#include <stddef.h>
#include <stdint.h>

/* Start with BUF_INIT; data stays NULL until something is put in. */
struct buf {
	uint8_t *data; /* malloc'd; owned by the buffer */
	size_t length;
	size_t capacity;
	size_t max; /* length never passes this */
};

#define BUF_INIT(cap)        \
	{                    \
		.max = (cap) \
	}

/* Make room for MORE bytes behind length. Returns 0, -ENOMEM, or -EFBIG past the cap; on
 * failure nothing changes. The same holds for the calls below. */
int buf_reserve(struct buf *buf, size_t more);

int buf_append(struct buf *buf, const void *data, size_t length);
int buf_append_string(struct buf *buf, const char *string); /* without its NUL */
int buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The content as a C string, NUL-terminated in place (not counted in length); valid until the
 * next call. NULL when there is no room for the NUL. */
const char *buf_string(struct buf *buf);

/* Forget the content, keep the memory. */
void buf_reset(struct buf *buf);

/* Give the memory back; the buffer may be used again. */
void buf_free(struct buf *buf);

#endif
