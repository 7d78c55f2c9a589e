/* Read a small file completely. */
#include "upload/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"

#define BLOCK 4096

int file_read(struct buf *out, const char *path)
{
	struct stat st;
	ssize_t n = 1;
	int fd, err;

	fd = fd_raise(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
	if (fd < 0)
		return fd;
	err = fstat(fd, &st) ? -errno : 0;
	if (!err && !S_ISREG(st.st_mode))
		err = -EINVAL;
	/* Reserve the known size at once: a buffer that grows leaves copies of secrets behind. */
	if (!err && st.st_size > 0)
		err = buf_reserve(out, (size_t)st.st_size + BLOCK + 1 <= out->max - out->length
					       ? (size_t)st.st_size + BLOCK + 1
					       : (size_t)st.st_size);
	while (!err && n > 0) {
		err = buf_reserve(out, BLOCK < out->max - out->length ? BLOCK : 1);
		if (err)
			break;
		n = read(fd, out->data + out->length,
			 out->capacity - out->length < BLOCK ? out->capacity - out->length : BLOCK);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			err = -errno;
		else
			out->length += (size_t)n;
	}
	close(fd);
	return err;
}
