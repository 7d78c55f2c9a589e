/* The image's mmap(2), munmap(2) and mremap(2), which its C library calls for malloc and thread stacks. */
#include "image/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "core/kernel.h"
#include "core/memory/account.h"
#include "core/memory/region.h"
#include "core/shared.h"

static bool has_begun;

void image_memory_begin(void)
{
	region_unmap_image();
	atomic_store(&shared->agent.memory_bytes, 0);
	has_begun = true;
}

/* In whole pages. A thread's stack is mapped without access first and is not counted: the thread's last instructions
 * unmap it. */
static void count_bytes(size_t added, size_t gone)
{
	atomic_fetch_add(&shared->agent.memory_bytes,
			 (int64_t)((added + 4095) & ~(size_t)4095) -
				 (int64_t)((gone + 4095) & ~(size_t)4095));
}

/* The agent's thread goes on to work where the others, which work for the endpoint and for destinations, must wait or
 * give up. */
static bool is_granted(size_t bytes)
{
	bool is_agent = kernel_call4(SYS_gettid, 0, 0, 0, 0) == atomic_load(&shared->agent.id);

	return memory_is_granted(is_agent ? MEMORY_WORK : MEMORY_CAPTURE, bytes);
}

/* Must not use the C library, which calls it before it is initialized and while it holds locks. */
long image_map(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	long result;

	if (has_begun && protection != PROT_NONE && !is_granted(length))
		return -ENOMEM;
	if (shared->region.start && !address)
		result = region_mmap(length, protection, flags, fd, offset);
	else
		result = kernel_call6(SYS_mmap, (long)address, (long)length, protection, flags, fd,
				      (long)offset);
	if (result < 0 && result >= -4095)
		return result == -EPERM && !address && fd < 0 ? -ENOMEM : result;
	if (protection != PROT_NONE)
		count_bytes(length, 0);
	if (has_begun && (flags & MAP_ANONYMOUS) && (flags & MAP_PRIVATE))
		kernel_call4(SYS_madvise, result, (long)length, MADV_WIPEONFORK, 0);
	return result;
}

/* Replacements of musl's functions, under musl's internal and public names. */
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

/* musl's munmap() waits for users of process-shared locks, where such locks are linked in. */
void __vm_wait(void) __attribute__((weak));
int __munmap(void *address, size_t length);
void *__mremap(void *address, size_t length, size_t wanted, int flags, ...);

int __munmap(void *address, size_t length)
{
	long result;

	if (__vm_wait)
		__vm_wait();
	if (region_has(address)) {
		region_unmap(address, length);
		result = 0;
	} else {
		result = kernel_call4(SYS_munmap, (long)address, (long)length, 0, 0);
	}
	if (result) {
		errno = (int)-result;
		return -1;
	}
	count_bytes(0, length);
	return 0;
}

/* In the region the kernel must not move a mapping, which would leave a hole. The mapping grows in place or is copied.
 * Returns the address or -errno. */
static long remap(void *address, size_t length, size_t wanted, int flags)
{
	long result;

	if (!region_has(address))
		return kernel_call6(SYS_mremap, (long)address, (long)length, (long)wanted, flags, 0,
				    0);
	if (region_resize(address, length, wanted)) {
		if (wanted > length)
			kernel_call4(SYS_madvise, (long)address, (long)wanted, MADV_WIPEONFORK, 0);
		return (long)address;
	}
	if (!(flags & MREMAP_MAYMOVE))
		return -ENOMEM;
	result = region_mmap(wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (result < 0 && result >= -4095)
		return result;
	kernel_call4(SYS_madvise, result, (long)wanted, MADV_WIPEONFORK, 0);
	memcpy((void *)result, address, length);
	region_unmap(address, length);
	return result;
}

/* (No caller passes a fixed address.) */
void *__mremap(void *address, size_t length, size_t wanted, int flags, ...)
{
	bool fits = wanted < PTRDIFF_MAX && (wanted <= length || is_granted(wanted - length));
	long result = fits ? remap(address, length, wanted, flags) : -ENOMEM;

	if (result < 0 && result >= -4095) {
		errno = (int)-result;
		return MAP_FAILED;
	}
	count_bytes(wanted, length);
	return (void *)result;
}

/* musl calls it at the end of a detached thread to unmap its stack. The agent has no detached threads
 * (core/own_thread.h), and a thread cannot return the stack that it runs on to the region. */
_Noreturn void __unmapself(void *stack, size_t bytes);

_Noreturn void __unmapself(void *stack, size_t bytes)
{
	(void)stack, (void)bytes;
	for (;;)
		kernel_call4(SYS_exit, 0, 0, 0, 0);
}

int munmap(void *address, size_t length) __attribute__((alias("__munmap")));
void *mremap(void *address, size_t length, size_t wanted, int flags, ...)
	__attribute__((alias("__mremap")));
