/* Reading this process's own memory where it may be unmapped at any moment. */
#include "engine/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/fd.h"

/* Sandboxes that refuse process_vm_readv(2) seldom refuse a file under /proc. */
static int read_by_file(uintptr_t address, void *data, size_t length)
{
	int fd = fd_raise(open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
	int err;

	if (fd < 0)
		return fd;
	err = fd_read(fd, data, length, (off_t)address);
	close(fd);
	return err == -EIO || err == -ENODATA ? -EFAULT : err;
}

int process_memory_read(uintptr_t address, void *data, size_t length)
{
	struct iovec local = { .iov_base = data, .iov_len = length };
	struct iovec remote = { .iov_base = (void *)address, .iov_len = length };
	ssize_t n;

	if (!length)
		return 0;
	/* Not by the number of the process, which has no memory once the main thread ended. */
	n = process_vm_readv((pid_t)syscall(SYS_gettid), &local, 1, &remote, 1, 0);
	if (n == (ssize_t)length)
		return 0;
	if (n >= 0 || errno == EFAULT)
		return -EFAULT;
	return read_by_file(address, data, length);
}
