/* Strings that must not stay behind in memory. */
#ifndef CORE_SECRET_H
#define CORE_SECRET_H

#include "core/buf.h"

/* Overwrite and free; NULL is fine. */
void secret_free(char *string);

/* The same for what a buffer holds; the buffer may be used again. What the buffer left behind
 * when it grew is not reached: reserve enough at first. */
void secret_buf_free(struct buf *buf);

#endif
