/* Address region: one reserved range that all later mappings of the agent lie in.
 *
 * A program may unmap a range and map it again with MAP_FIXED. An address that the kernel chooses for the agent
 * could lie in such a range. So the constructor reserves a range without access. Later mappings of the agent and
 * async-profiler replace pages of that range. The kernel chooses no address for them any more.
 *
 * Both worlds allocate from it, without locks: the state is a bitmap in shared memory. In a forked child it is as in
 * the parent. Where no region is reserved (unit tests, the command), the kernel chooses the addresses. */
#ifndef CORE_MEMORY_REGION_H
#define CORE_MEMORY_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a mapping is used for. A mapping of the host's side is REGION_TABLES until region_mark(). */
enum region_kind {
	REGION_TABLES, /* rings and tables of the host's side */
	REGION_HEAP,   /* mapped by the image */
	REGION_STACKS, /* alternate signal stacks of the program's threads */
	REGION_ENGINE, /* async-profiler */
	REGION_KINDS
};

/* Address space to reserve: signal stacks of 12,000 threads, and 256 MiB for the rest. */
#define REGION_BYTES ((size_t)1 << 30)

/* Return the size of a region of BYTES under this RLIMIT_AS: a 16th of it; at least 24 MiB, enough for a report of a large
 * program, but at most a quarter. */
static inline size_t region_bytes_under(size_t bytes, uint64_t address_space)
{
	uint64_t most = address_space / 16;

	if (most < 24u << 20)
		most = 24u << 20;
	if (most > address_space / 4)
		most = address_space / 4;
	return most < bytes ? (size_t)most : bytes;
}

/* Reserve BYTES of address space, less where RLIMIT_AS is low. In the constructor, once. Returns 0 or -errno. */
int region_begin(size_t bytes);

/* The same at ADDRESS, whose BYTES are reserved already. */
int region_begin_at(uintptr_t address, size_t bytes);

/* True when BYTES can be allocated for signal stacks. They may use three quarters of the region: a program of many
 * threads must not keep the agent from writing its report. Async-signal-safe. */
bool region_has_room_for_stacks(size_t bytes);

/* mmap(2) at an address in the region. Async-signal-safe. Returns the address or -errno; -ENOMEM when the region is full,
 * which is logged once. */
long region_mmap(size_t bytes, int protection, int flags, int fd, off_t offset);

/* Resize the mapping of BYTES at ADDRESS to WANTED without moving it. Returns false on failure. */
bool region_resize(void *address, size_t bytes, size_t wanted);

/* Free BYTES at ADDRESS, any part of a mapping in the region. Async-signal-safe. */
void region_unmap(void *address, size_t bytes);

/* Set the kind of BYTES at ADDRESS, a mapping in the region; elsewhere it does nothing. Async-signal-safe. */
void region_mark(const void *address, size_t bytes, enum region_kind kind);

/* Set BYTES to the used bytes, resident or swapped, of each kind of the bits KINDS; to 0 of the others. PAGE is the
 * kernel's page size, PAGEMAP the file /proc/PID/pagemap. Where that cannot be read, mapped bytes count. */
void region_measure(size_t page, int pagemap, unsigned kinds, uint64_t bytes[REGION_KINDS]);

/* True when ADDRESS is in the region. Async-signal-safe. */
bool region_has(const void *address);

/* Return the number of free bytes. */
size_t region_free_bytes(void);

/* Free all mappings of the image. In a forked child, which starts a new image. */
void region_unmap_image(void);

/* Unmap the free pages at the region's end, but none of its first KEEP bytes. They no longer belong to the process's
 * address space. Returns the number of bytes. */
size_t region_cut(size_t keep);

/* Reserve again what region_cut() has unmapped, where the kernel allows it and the program has mapped nothing there. */
void region_restore(size_t bytes);

/* The program has set this RLIMIT_AS: reduce the region to the size that it would have under this limit. */
void region_limit(size_t address_space);

/* True in the process that owns the region: after region_begin() or region_after_fork(). False in a child of
 * vfork(2). */
bool region_is_here(void);
void region_after_fork(void);

/* The program has locked all its memory: unlock the free pages and later mappings. */
void region_unlock(void);

#endif
