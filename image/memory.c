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
#include "core/shared.h"

static atomic_bool empty_in_children;

void image_memory_empty_in_children(void)
{
	atomic_store(&empty_in_children, true);
}

/* In whole pages. A thread's stack is mapped without access first: it is not counted, as it goes in the thread's last
 * instructions. */
static void count(size_t added, size_t gone)
{
	atomic_fetch_add(&shared->agent.memory_bytes,
			 (int64_t)((added + 4095) & ~(size_t)4095) -
				 (int64_t)((gone + 4095) & ~(size_t)4095));
}

/* Nothing here may use the C library: it is called before that is ready, and while it holds locks. */
long image_map(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	long result = kernel_call6(SYS_mmap, (long)address, (long)length, protection, flags, fd,
				   (long)offset);

	if (result < 0 && result >= -4095)
		return result == -EPERM && !address && fd < 0 ? -ENOMEM : result;
	if (protection != PROT_NONE)
		count(length, 0);
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

/* As musl's, which waits for locks of memory that processes share, where something here has such. */
void __vm_wait(void) __attribute__((weak));
int __munmap(void *address, size_t length);
void *__mremap(void *address, size_t length, size_t wanted, int flags, ...);

int __munmap(void *address, size_t length)
{
	long result;

	if (__vm_wait)
		__vm_wait();
	result = kernel_call4(SYS_munmap, (long)address, (long)length, 0, 0);
	if (result) {
		errno = (int)-result;
		return -1;
	}
	count(0, length);
	return 0;
}

/* (What is given to a fixed place nobody asks for here.) */
void *__mremap(void *address, size_t length, size_t wanted, int flags, ...)
{
	long result = -ENOMEM;

	if (wanted < PTRDIFF_MAX)
		result = kernel_call6(SYS_mremap, (long)address, (long)length, (long)wanted, flags,
				      0, 0);
	if (result < 0 && result >= -4095) {
		errno = (int)-result;
		return MAP_FAILED;
	}
	count(wanted, length);
	return (void *)result;
}

int munmap(void *address, size_t length) __attribute__((alias("__munmap")));
void *mremap(void *address, size_t length, size_t wanted, int flags, ...)
	__attribute__((alias("__mremap")));
