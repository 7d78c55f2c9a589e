/* List of the modules of a program. */
#include "attach/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/system.h"

static struct link_map program = { .l_name = (char *)"" };
static struct link_map vdso = { .l_name = (char *)"linux-vdso.so.1" };
static struct r_debug debug = { .r_version = 1 };

static void module_set(struct link_map *map, uintptr_t bias, const ElfW(Phdr) * segments,
		       size_t count)
{
	map->l_addr = bias;
	for (size_t i = 0; i < count; i++)
		if (segments[i].p_type == PT_DYNAMIC)
			map->l_ld = (void *)(bias + segments[i].p_vaddr);
}

/* A program without PT_PHDR is linked for a fixed address. */
static void program_set(void)
{
	const ElfW(Phdr) *segments = (const void *)getauxval(AT_PHDR);
	size_t count = getauxval(AT_PHNUM);
	const ElfW(Ehdr) *header = (const void *)((uintptr_t)segments - sizeof(*header));
	uintptr_t bias = 0;

	for (size_t i = 0; i < count; i++)
		if (segments[i].p_type == PT_PHDR)
			bias = (uintptr_t)segments - segments[i].p_vaddr;
		else if (segments[i].p_type == PT_LOAD && !segments[i].p_offset && !bias)
			bias = (uintptr_t)header - segments[i].p_vaddr;
	module_set(&program, bias, segments, count);
}

static void vdso_set(void)
{
	const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Phdr) * segments;

	if (!header)
		return;
	segments = (const void *)((const char *)header + header->e_phoff);
	module_set(&vdso, (uintptr_t)header, segments, header->e_phnum);
	vdso.l_prev = &program;
	program.l_next = &vdso;
}

/* The dynamic linker stores the address of its list in the program. */
static const struct r_debug *linker_list(void)
{
	const ElfW(Dyn) *entry = getauxval(AT_BASE) ? program.l_ld : NULL;

	while (entry && entry->d_tag != DT_NULL && entry->d_tag != DT_DEBUG)
		entry++;
	return entry && entry->d_tag == DT_DEBUG ? (const void *)entry->d_un.d_ptr : NULL;
}

const struct r_debug *attach_modules(void)
{
	static const struct r_debug *list;

	if (list)
		return list;
	program_set();
	list = linker_list();
	if (!list) {
		vdso_set();
		debug.r_map = &program;
		list = &debug;
	}
	return list;
}

static size_t note_align(size_t bytes)
{
	return (bytes + 3) & ~(size_t)3;
}

static bool notes_have(const char *at, const char *end, const char *name, uint32_t type)
{
	const size_t length = strlen(name) + 1;
	const ElfW(Nhdr) * note;

	while (end - at >= (ptrdiff_t)(sizeof(*note) + note_align(length))) {
		note = (const void *)at;
		at += sizeof(*note);
		if (note->n_type == type && note->n_namesz >= length && !memcmp(at, name, length))
			return true;
		if (note->n_namesz > end - at || note->n_descsz > end - at)
			return false;
		at += note_align(note->n_namesz) + note_align(note->n_descsz);
	}
	return false;
}

/* A segment of another type may not be mapped. */
static bool is_mapped(const ElfW(Phdr) * segments, size_t count, const ElfW(Phdr) * inner)
{
	for (size_t i = 0; i < count; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_R &&
		    inner->p_vaddr >= segments[i].p_vaddr &&
		    inner->p_vaddr - segments[i].p_vaddr <= segments[i].p_filesz &&
		    inner->p_filesz <=
			    segments[i].p_filesz - (inner->p_vaddr - segments[i].p_vaddr))
			return true;
	return false;
}

bool attach_program_has_note(const char *name, uint32_t type)
{
	const ElfW(Phdr) *segments = (const void *)getauxval(AT_PHDR);
	size_t count = getauxval(AT_PHNUM);

	attach_modules();
	for (size_t i = 0; i < count; i++) {
		const char *notes = (const char *)(program.l_addr + segments[i].p_vaddr);

		if (segments[i].p_type == PT_NOTE && is_mapped(segments, count, &segments[i]) &&
		    notes_have(notes, notes + segments[i].p_filesz, name, type))
			return true;
	}
	return false;
}

/* More bytes of section names than Go's linker writes. */
#define NAMES_MAX 2048

/* Read the names of the sections of the file FD. Returns their bytes, or -errno. */
static ssize_t section_names_read(int fd, char names[NAMES_MAX])
{
	ElfW(Ehdr) header;
	ElfW(Shdr) section;
	int err = fd_read(fd, &header, sizeof(header), 0);

	if (!err)
		err = fd_read(fd, &section, sizeof(section),
			      (off_t)(header.e_shoff + header.e_shstrndx * sizeof(section)));
	if (!err && section.sh_size > NAMES_MAX)
		err = -ENOEXEC;
	if (!err)
		err = fd_read(fd, names, section.sh_size, (off_t)section.sh_offset);
	return err ? err : (ssize_t)section.sh_size;
}

bool attach_program_has_section(const char *name)
{
	int fd = fd_of_thread(system_thread(), "exe", O_RDONLY | O_CLOEXEC);
	const size_t length = strlen(name) + 1;
	char names[NAMES_MAX];
	ssize_t bytes;

	if (fd < 0)
		return false;
	bytes = section_names_read(fd, names);
	close(fd);
	for (ssize_t at = 0; at + (ssize_t)length <= bytes; at++)
		if (!memcmp(names + at, name, length))
			return true;
	return false;
}
