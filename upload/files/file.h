/* Read a small file completely. */
#ifndef UPLOAD_FILES_FILE_H
#define UPLOAD_FILES_FILE_H

#include "core/buf.h"

/* Append the content of PATH to OUT. Reads only a regular file, or a link to one: a FIFO could
 * block forever. Returns 0 or -errno; -EFBIG if the content exceeds OUT's cap. */
int file_read(struct buf *out, const char *path);

#endif
