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
#include "image/reserve.h"

static struct image_area *_Atomic areas; /* NULL: it has not begun */

/* A fork that comes between the kernel's change and ours makes the child keep an area; never give back what
 * is not ours. So an area is noted behind its mapping, and forgotten ahead of its end. */
static void note(uintptr_t start, size_t bytes)
{
	struct image_area *all = atomic_load(&areas);

	for (size_t i = 0; all && i < IMAGE_AREAS_MAX; i++) {
		uintptr_t none = 0;

		if (!atomic_compare_exchange_strong(&all[i].start, &none, 1))
			continue;
		all[i].bytes = bytes;
		atomic_store(&all[i].start, start);
		return;
	}
}

/* The area that ADDRESS is in, all of it, whatever part is to go. Returns how large it was; 0 where it was not
 * noted. */
static size_t forget(uintptr_t address)
{
	struct image_area *all = atomic_load(&areas);

	for (size_t i = 0; all && i < IMAGE_AREAS_MAX; i++) {
		uintptr_t start = atomic_load(&all[i].start);
		size_t bytes = all[i].bytes;

		if (start > 1 && address - start < bytes) {
			atomic_store(&all[i].start, 0);
			return bytes;
		}
	}
	return 0;
}

void image_memory_begin(struct image_area inherited[IMAGE_AREAS_MAX])
{
	for (size_t i = 0; i < IMAGE_AREAS_MAX; i++) {
		uintptr_t start = atomic_load(&inherited[i].start);

		if (start > 1)
			kernel_call4(SYS_munmap, (long)start, (long)inherited[i].bytes, 0, 0);
		atomic_store(&inherited[i].start, 0);
	}
	reserve_begin(&inherited[0]);
	atomic_store(&areas, inherited);
}

/* In whole pages. A thread's stack is mapped without access first: it is not counted, as it goes in the thread's last
 * instructions. */
static void count_bytes(size_t added, size_t gone)
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

	/* (Not the stacks of threads, which give themselves back.) */
	if (result == -ENOMEM && !address && protection != PROT_NONE)
		result = reserve_map(length, protection, flags, fd, offset);
	if (result < 0 && result >= -4095)
		return result == -EPERM && !address && fd < 0 ? -ENOMEM : result;
	if (protection != PROT_NONE)
		count_bytes(length, 0);
	if ((flags & MAP_ANONYMOUS) && (flags & MAP_PRIVATE) && atomic_load(&areas)) {
		kernel_call4(SYS_madvise, result, (long)length, MADV_WIPEONFORK, 0);
		if (!reserve_has((void *)result))
			note((uintptr_t)result, length);
	}
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
	if (reserve_has(address)) {
		reserve_unmap(address, length);
		count_bytes(0, length);
		return 0;
	}
	forget((uintptr_t)address);
	result = kernel_call4(SYS_munmap, (long)address, (long)length, 0, 0);
	if (result) {
		errno = (int)-result;
		return -1;
	}
	count_bytes(0, length);
	return 0;
}

/* (What is given to a fixed place nobody asks for here. What is in the reserve stays there: a block of malloc's is copied.) */
void *__mremap(void *address, size_t length, size_t wanted, int flags, ...)
{
	bool reserved = reserve_has(address);
	size_t noted = reserved ? 0 : forget((uintptr_t)address);
	long result = -ENOMEM;

	if (wanted < PTRDIFF_MAX && !reserved)
		result = kernel_call6(SYS_mremap, (long)address, (long)length, (long)wanted, flags,
				      0, 0);
	if (result < 0 && result >= -4095) {
		if (noted)
			note((uintptr_t)address, noted);
		errno = (int)-result;
		return MAP_FAILED;
	}
	if (noted)
		note((uintptr_t)result, wanted);
	count_bytes(wanted, length);
	return (void *)result;
}

/* As musl's: the end of a thread that nobody waits for, which takes its stack along. */
_Noreturn void __unmapself(void *stack, size_t bytes);

_Noreturn void __unmapself(void *stack, size_t bytes)
{
	forget((uintptr_t)stack);
#if defined(__x86_64__)
	__asm__ volatile("syscall\n\t"
			 "xor %%edi, %%edi\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n\t"
			 "hlt"
			 :
			 : "a"((long)SYS_munmap), "D"(stack), "S"(bytes), [exit] "i"(SYS_exit)
			 : "memory");
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_munmap;
	register void *first __asm__("x0") = stack;
	register size_t second __asm__("x1") = bytes;

	__asm__ volatile("svc #0\n\t"
			 "mov x0, #0\n\t"
			 "mov x8, %[exit]\n\t"
			 "svc #0\n\t"
			 "brk #0"
			 :
			 : "r"(number), "r"(first), "r"(second), [exit] "i"(SYS_exit)
			 : "memory");
#endif
	__builtin_unreachable();
}

int munmap(void *address, size_t length) __attribute__((alias("__munmap")));
void *mremap(void *address, size_t length, size_t wanted, int flags, ...)
	__attribute__((alias("__mremap")));
