/* Erasure of secrets from memory. */
#ifndef CORE_SECRET_H
#define CORE_SECRET_H

#include "core/buf.h"

/* Overwrite and free STRING, which may be NULL. */
void secret_free(char *string);

/* The same for the content of a buffer, which may be used again. Old copies from when the buffer grew are not
 * erased: reserve enough at first. */
void secret_buf_free(struct buf *buf);

#endif
