/* The attached host's side as a file, and in a stopped program. No page is writable and executable at the same time. */
#include "attach/tracing/payload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "core/kernel.h"

#define PAGE STOPPED_PAGE

static int payload_read_headers(struct payload *payload, int fd)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (kernel_call4(SYS_pread64, fd, (long)&header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phentsize != sizeof(segment) || header.e_machine != ARCH_ELF_MACHINE)
		return -ENOEXEC;
	payload->entry = header.e_entry;
	for (size_t i = 0; i < header.e_phnum; i++) {
		if (kernel_call4(SYS_pread64, fd, (long)&segment, sizeof(segment),
				 (long)(header.e_phoff + i * sizeof(segment))) != sizeof(segment))
			return -ENOEXEC;
		if (segment.p_type != PT_LOAD)
			continue;
		if (payload->count == PAYLOAD_SEGMENTS_MAX)
			return -ENOEXEC;
		payload->segments[payload->count++] = segment;
		payload->bytes = stopped_page_up(segment.p_vaddr + segment.p_memsz);
	}
	return payload->count ? 0 : -ENOEXEC;
}

int payload_open(struct payload *payload, const char *path)
{
	long fd = kernel_call4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
	int err;

	stopped_zero(payload, sizeof(*payload));
	payload->path = path;
	if (fd < 0)
		return (int)fd;
	err = payload_read_headers(payload, (int)fd);
	kernel_call4(SYS_close, fd, 0, 0, 0);
	return err;
}

int payload_protection(const Elf64_Phdr *segment)
{
	return (segment->p_flags & PF_R ? PROT_READ : 0) |
	       (segment->p_flags & PF_W ? PROT_WRITE : 0) |
	       (segment->p_flags & PF_X ? PROT_EXEC : 0);
}

/* The rest of the segment's last page is zeroed; further pages are there already. */
static bool segment_map(const struct stopped *thread, uintptr_t base, const Elf64_Phdr *segment,
			long fd)
{
	static const char zeroes[PAGE];
	uintptr_t skip = segment->p_vaddr % PAGE, end = segment->p_vaddr + segment->p_filesz;
	long at = (long)(base + segment->p_vaddr - skip);
	const long arguments[6] = { at,
				    (long)(segment->p_filesz + skip),
				    payload_protection(segment),
				    MAP_PRIVATE | MAP_FIXED,
				    fd,
				    (long)(segment->p_offset - skip) };

	if (stopped_call(thread, SYS_mmap, arguments) != at)
		return false;
	return !(segment->p_flags & PF_W) ||
	       stopped_write(thread, base + end, zeroes, stopped_page_up(end) - end);
}

static bool payload_map_file(const struct stopped *thread, uintptr_t base,
			     const struct payload *payload, long fd)
{
	for (size_t i = 0; i < payload->count; i++)
		if (!segment_map(thread, base, &payload->segments[i], fd))
			return false;
	return true;
}

size_t payload_mapped_bytes(const struct payload *payload)
{
	return payload->bytes + PAGE + PAYLOAD_STACK_BYTES;
}

bool payload_map(const struct stopped *thread, const struct payload *payload, uintptr_t *base)
{
	const long bytes = (long)payload_mapped_bytes(payload);
	long path, fd, start;
	size_t length = 0;
	bool is_mapped;

	start = stopped_call(thread, SYS_mmap,
			     (const long[6]){ 0, bytes, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0 });
	*base = stopped_call_failed(start) ? 0 : (uintptr_t)start;
	if (!*base)
		return false;
	while (payload->path[length++])
		;
	path = start + bytes - (long)PAYLOAD_STACK_BYTES;
	if (!stopped_write(thread, (uintptr_t)path, payload->path, length))
		return false;
	fd = stopped_call(thread, SYS_openat,
			  (const long[6]){ AT_FDCWD, path, O_RDONLY | O_CLOEXEC });
	if (stopped_call_failed(fd))
		return false;
	is_mapped = payload_map_file(thread, *base, payload, fd);
	stopped_call(thread, SYS_close, (const long[6]){ fd });
	return is_mapped &&
	       !stopped_call(thread, SYS_mprotect, (const long[6]){ path - PAGE, PAGE, PROT_NONE });
}
