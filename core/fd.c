/* File descriptors with high numbers, which do not disturb the program. */
#include "core/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "core/format.h"
#include "core/system.h"

int fd_raise_result(int fd)
{
	struct rlimit limit;
	int floor = FD_FLOOR, raised;

	if (fd < 0)
		return fd;
	if (!system_limit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 2 < FD_FLOOR)
		floor = (int)limit.rlim_cur / 2;
	raised = (int)kernel_call4(SYS_fcntl, fd, F_DUPFD_CLOEXEC, floor, 0);
	system_close(fd);
	return raised;
}

int fd_raise(int fd)
{
	return fd_raise_result(fd < 0 ? -errno : fd);
}

bool fd_ids_are_as_here(void)
{
	char target[16] = "";
	long length = system_read_link("/proc/self", target, sizeof(target) - 1);

	return length > 0 && strtol(target, NULL, 10) == system_process();
}

static int open_of_thread(pid_t tid, bool is_alone, const char *name, int flags)
{
	char path[64];
	int fd = -ENOENT;

	flags |= O_RDONLY | O_CLOEXEC;
	if (fd_ids_are_as_here()) {
		if (is_alone)
			format_text(path, sizeof(path), "/proc/%d/task/%d/%s", tid, tid, name);
		else
			format_text(path, sizeof(path), "/proc/%d/%s", tid, name);
		fd = fd_raise_result(system_open(path, flags, 0));
		/* Otherwise the id may have belonged to another thread. */
		if (fd >= 0 && !system_thread_is_gone(tid))
			return fd;
	}
	if (fd >= 0)
		system_close(fd);
	format_text(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
	return fd_raise_result(system_open(path, flags, 0));
}

int fd_of_thread(pid_t tid, const char *name, int flags)
{
	return open_of_thread(tid, false, name, flags);
}

int fd_of_thread_alone(pid_t tid, const char *name)
{
	return open_of_thread(tid, true, name, 0);
}

int fd_write(int fd, const void *data, size_t length, off_t offset)
{
	const uint8_t *p = data;
	ssize_t n;

	while (length) {
		n = offset < 0 ? write(fd, p, length) : pwrite(fd, p, length, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		length -= (size_t)n;
		if (offset >= 0)
			offset += n;
	}
	return 0;
}

int fd_read(int fd, void *data, size_t length, off_t offset)
{
	uint8_t *p = data;
	ssize_t n;

	while (length) {
		n = pread(fd, p, length, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENODATA;
		p += n;
		length -= (size_t)n;
		offset += n;
	}
	return 0;
}

int fd_copy(int out, int in, off_t offset, uint64_t length)
{
	ssize_t n;

	while (length) {
		n = sendfile(out, in, &offset, length > 1 << 30 ? 1 << 30 : (size_t)length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENODATA;
		length -= (uint64_t)n;
	}
	return 0;
}
