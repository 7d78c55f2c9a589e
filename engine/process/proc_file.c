/* The small files that the kernel makes up, under /proc and /sys. */
#include "engine/process/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/fd.h"

ssize_t proc_file_read(const char *path, char *text, size_t size)
{
	int fd = fd_raise(open(path, O_RDONLY | O_CLOEXEC));
	ssize_t length;

	text[0] = '\0';
	if (fd < 0)
		return fd;
	length = read(fd, text, size - 1);
	if (length < 0)
		length = -errno;
	else
		text[length] = '\0';
	close(fd);
	return length;
}

FILE *proc_file_open(const char *path)
{
	int fd = fd_raise(open(path, O_RDONLY | O_CLOEXEC));
	FILE *stream;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	stream = fdopen(fd, "r");
	if (!stream)
		close(fd);
	return stream;
}
