/* Small files, read whole. */
#ifndef UPLOAD_FILES_FILE_H
#define UPLOAD_FILES_FILE_H

#include "core/buf.h"

/* Append the content of PATH to OUT. Only a regular file is read (or a link to one): a FIFO
 * could block for ever. Returns 0 or -errno, -EFBIG past OUT's cap. */
int file_read(struct buf *out, const char *path);

#endif
