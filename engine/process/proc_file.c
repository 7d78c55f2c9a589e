/* Reader for the small virtual files in /proc and /sys. */
#include "engine/process/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/fd.h"

static ssize_t read_text(int fd, char *text, size_t size)
{
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

ssize_t proc_file_read(const char *path, char *text, size_t size)
{
	return read_text(fd_raise(open(path, O_RDONLY | O_CLOEXEC)), text, size);
}

ssize_t proc_file_read_of(pid_t tid, const char *name, char *text, size_t size)
{
	return read_text(fd_of_thread(tid, name, 0), text, size);
}

ssize_t proc_file_read_alone(pid_t tid, const char *name, char *text, size_t size)
{
	return read_text(fd_of_thread_alone(tid, name), text, size);
}

static void path_of(char *path, size_t size, pid_t tid, const char *name)
{
	snprintf(path, size, fd_ids_are_as_here() ? "/proc/%d/%s" : "/proc/self/task/%d/%s", tid,
		 name);
}

ssize_t proc_link_read_of(pid_t tid, const char *name, char *text, size_t size)
{
	ssize_t length;
	char path[64];

	path_of(path, sizeof(path), tid, name);
	length = readlink(path, text, size - 1);
	text[length > 0 ? length : 0] = '\0';
	return length < 0 ? -errno : length;
}

ssize_t proc_attribute_read_of(pid_t tid, const char *name, const char *attribute, char *text,
			       size_t size)
{
	ssize_t length;
	char path[64];

	path_of(path, sizeof(path), tid, name);
	length = getxattr(path, attribute, text, size - 1);
	text[length > 0 ? length : 0] = '\0';
	return length < 0 ? -errno : length;
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
