/* All memory of the image's C library (what malloc gives, the stacks of threads) comes by this one
 * function, and so do the image's own mappings. */
#include "image/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "core/kernel.h"

static atomic_bool empty_in_children;

void image_memory_empty_in_children(void)
{
	atomic_store(&empty_in_children, true);
}

/* Nothing here may use the C library: it is called before that is ready, and while it holds locks. */
long image_map(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	long result = kernel_call6(SYS_mmap, (long)address, (long)length, protection, flags, fd,
				   (long)offset);

	if (result < 0 && result >= -4095)
		return result == -EPERM && !address && fd < 0 ? -ENOMEM : result;
	if ((flags & MAP_ANONYMOUS) && (flags & MAP_PRIVATE) && atomic_load(&empty_in_children))
		kernel_call4(SYS_madvise, result, (long)length, MADV_WIPEONFORK, 0);
	return result;
}

/* As musl's own. The names are those that it is called by inside and outside. */
void *__mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);

void *__mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	long result = -ENOMEM;

	if (length < PTRDIFF_MAX)
		result = image_map(address, length, protection, flags, fd, offset);
	if (result < 0 && result >= -4095) {
		errno = (int)-result;
		return MAP_FAILED;
	}
	return (void *)result;
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
	__attribute__((alias("__mmap")));
