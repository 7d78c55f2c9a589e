/* Erasure of secrets from memory. */
#include "core/secret.h"

#include <stdlib.h>
#include <string.h>

void secret_free(char *string)
{
	if (string)
		explicit_bzero(string, strlen(string));
	free(string);
}

void secret_buf_free(struct buf *buf)
{
	if (buf->data)
		explicit_bzero(buf->data, buf->capacity);
	buf_free(buf);
}
