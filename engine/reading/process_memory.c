/* Fault-free reads of this process's memory outside signal context. */
#include "engine/reading/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/fd.h"
#include "engine/reading/memory_reader.h"

/* Fallback: sandboxes that refuse process_vm_readv(2) seldom refuse a file in /proc. */
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
	long n;

	if (!length)
		return 0;
	n = memory_copy_available(data, address, length);
	if (n == (long)length)
		return 0;
	if (n >= 0 || n == -EFAULT)
		return -EFAULT;
	return read_by_file(address, data, length);
}
