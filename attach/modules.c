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
#include "engine/reading/memory_reader.h"

static struct link_map program = { .l_name = (char *)"" };
static struct link_map vdso = { .l_name = (char *)"linux-vdso.so.1" };
static struct r_debug debug = { .r_version = 1 };

/* All is read by calls that cannot fault: a program may have headers in no segment, or may have unmapped or protected
 * them. */
static bool segment_read(uintptr_t segments, size_t index, ElfW(Phdr) * segment)
{
	return memory_copy(segment, segments + index * sizeof(*segment), sizeof(*segment));
}

static void module_set(struct link_map *map, uintptr_t bias, uintptr_t segments, size_t count)
{
	ElfW(Phdr) segment;

	map->l_addr = bias;
	for (size_t i = 0; i < count && segment_read(segments, i, &segment); i++)
		if (segment.p_type == PT_DYNAMIC)
			map->l_ld = (void *)(bias + segment.p_vaddr);
}

/* A program without PT_PHDR is linked for a fixed address. */
static void program_set(void)
{
	const uintptr_t segments = getauxval(AT_PHDR);
	size_t count = getauxval(AT_PHNUM);
	uintptr_t header = segments - sizeof(ElfW(Ehdr)), bias = 0;
	ElfW(Phdr) segment;

	for (size_t i = 0; i < count && segment_read(segments, i, &segment); i++)
		if (segment.p_type == PT_PHDR)
			bias = segments - segment.p_vaddr;
		else if (segment.p_type == PT_LOAD && !segment.p_offset && !bias)
			bias = header - segment.p_vaddr;
	module_set(&program, bias, segments, count);
}

static void vdso_set(void)
{
	const uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	ElfW(Ehdr) header;

	if (!start || !memory_copy(&header, start, sizeof(header)))
		return;
	module_set(&vdso, start, start + header.e_phoff, header.e_phnum);
	vdso.l_prev = &program;
	program.l_next = &vdso;
}

/* The dynamic linker stores the address of its list in the program. */
static const struct r_debug *linker_list(void)
{
	uintptr_t at = getauxval(AT_BASE) ? (uintptr_t)program.l_ld : 0;
	ElfW(Dyn) entry;

	for (; at && memory_copy(&entry, at, sizeof(entry)) && entry.d_tag != DT_NULL;
	     at += sizeof(entry))
		if (entry.d_tag == DT_DEBUG)
			return (const void *)entry.d_un.d_ptr;
	return NULL;
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

/* Of the program's notes, which have its build ID. */
#define NOTES_MAX 1024

bool attach_program_has_note(const char *name, uint32_t type)
{
	const uintptr_t segments = getauxval(AT_PHDR);
	size_t count = getauxval(AT_PHNUM), bytes;
	char notes[NOTES_MAX] __attribute__((aligned(4)));
	ElfW(Phdr) segment;

	attach_modules();
	for (size_t i = 0; i < count && segment_read(segments, i, &segment); i++) {
		bytes = segment.p_filesz < sizeof(notes) ? segment.p_filesz : sizeof(notes);
		if (segment.p_type == PT_NOTE &&
		    memory_copy(notes, program.l_addr + segment.p_vaddr, bytes) &&
		    notes_have(notes, notes + bytes, name, type))
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
