/* Finds where a Go program has the labels of its goroutines, by the version of Go. */
#include "engine/runtime/go/go_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/elf/module_file.h"
#include "engine/reading/process_memory.h"
#include "engine/runtime/go/go_table.h"

/* Header of the build information, with a string of the version at its end since Go 1.18 (debug/buildinfo). */
#define MAGIC          "\xff Go buildinf:"
#define MAGIC_BYTES    14
#define MAGIC_ALIGN    16
#define FLAGS_AT       15
#define FLAG_INLINE    2
#define VERSION_AT     32
#define VERSION_PREFIX "go1."

/* Bytes of data to search for it, and how many are read at once. */
#define SEARCH_MAX   (64u << 20)
#define SEARCH_BYTES (64u << 10)

/* Without thread-local variables of C, Go's only one is there (cmd/link, cmd/internal/obj/x86). */
#define CURRENT_DEFAULT (-8)
#define CURRENT_SYMBOL  "runtime.tlsg"

/* From the debug information of programs that were built with each version. The offset of g.m is 48 in all. */
#define MACHINE 48
static const struct {
	unsigned minor; /* of Go 1.minor */
	uint16_t user, labels;
	bool is_map;
} versions[] = {
	{ 19, 192, 360, true },  { 21, 192, 344, true },  { 22, 192, 344, true },
	{ 23, 192, 352, true },  { 24, 192, 352, false }, { 25, 184, 344, false },
	{ 26, 184, 352, false }, { 27, 184, 352, false },
};

static int layout_for_version(struct go_labels_layout *layout, const char *version)
{
	char *end;
	unsigned long minor;

	if (strncmp(version, VERSION_PREFIX, strlen(VERSION_PREFIX)))
		return -ENOTSUP;
	minor = strtoul(version + strlen(VERSION_PREFIX), &end, 10);
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		if (versions[i].minor == minor) {
			layout->machine = MACHINE;
			layout->user = versions[i].user;
			layout->labels = versions[i].labels;
			layout->is_map = versions[i].is_map;
			return 0;
		}
	return -ENOTSUP;
}

/* Read the version from the header at ADDRESS. */
static int read_version(uintptr_t address, char *version, size_t size)
{
	uint8_t head[VERSION_AT + 1];
	int err = process_memory_read(address, head, sizeof(head));
	size_t length;

	if (err)
		return err;
	length = head[VERSION_AT]; /* (a length above 127 has further bytes, and is no version's) */
	if (!(head[FLAGS_AT] & FLAG_INLINE) || !length || length >= size || length > 127)
		return -ENOTSUP;
	version[length] = '\0';
	return process_memory_read(address + sizeof(head), version, length);
}

/* Search [ADDRESS, ADDRESS + BYTES) for the header. */
static int search_data(uintptr_t address, uint64_t bytes, char *version, size_t size)
{
	uint8_t *data = malloc(SEARCH_BYTES);
	int err = data ? -ENOENT : -ENOMEM;
	size_t part;

	for (; err == -ENOENT && bytes >= MAGIC_ALIGN; bytes -= part, address += part) {
		part = bytes < SEARCH_BYTES ? bytes & ~(uint64_t)(MAGIC_ALIGN - 1) : SEARCH_BYTES;
		if (process_memory_read(address, data, part))
			break;
		for (size_t i = 0; err == -ENOENT && i < part; i += MAGIC_ALIGN)
			if (!memcmp(data + i, MAGIC, MAGIC_BYTES))
				err = read_version(address + i, version, size);
	}
	free(data);
	return err;
}

static int find_version(struct elf *image, uintptr_t bias, char *version, size_t size)
{
	int err = -ENOENT;

	for (size_t i = 0; err == -ENOENT && i < elf_segment_count(image); i++) {
		const Elf64_Phdr *phdr = elf_segment(image, i);
		uintptr_t start =
			(bias + phdr->p_vaddr + MAGIC_ALIGN - 1) & ~(uintptr_t)(MAGIC_ALIGN - 1);

		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_W)
			err = search_data(start,
					  phdr->p_filesz < SEARCH_MAX ? phdr->p_filesz : SEARCH_MAX,
					  version, size);
	}
	return err;
}

struct symbol_search {
	struct elf *file;
	const Elf64_Shdr *strings;
	uint64_t value;
};

static int visit_symbol(void *context, const Elf64_Sym *symbol)
{
	struct symbol_search *search = context;
	char name[sizeof(CURRENT_SYMBOL) + 1];

	if (ELF64_ST_TYPE(symbol->st_info) != STT_TLS ||
	    elf_string(search->file, search->strings, symbol->st_name, name, sizeof(name)) < 0 ||
	    strcmp(name, CURRENT_SYMBOL))
		return 0;
	search->value = symbol->st_value;
	return 1;
}

/* Look up the offset of Go's variable in the BLOCK of thread-local variables. The file at PATH may be another one by now. A
 * handler reads the variable in place, so it must be in the block. */
static int find_symbol(const char *path, const Elf64_Phdr *block, uint64_t *value)
{
	const Elf64_Phdr *same;
	struct symbol_search search = { 0 };
	const Elf64_Shdr *table;
	int err = module_file_open_elf(&search.file, path);

	if (err)
		return err;
	same = elf_find_segment(search.file, PT_TLS);
	table = elf_find_section_type(search.file, SHT_SYMTAB);
	search.strings = table ? elf_section(search.file, table->sh_link) : NULL;
	err = !search.strings                                               ? -ENOENT
	      : elf_symbols(search.file, table, visit_symbol, &search) == 1 ? 0
									    : -ENOENT;
	if (!same || memcmp(same, block, sizeof(*same)) || block->p_memsz < sizeof(uintptr_t) ||
	    search.value > block->p_memsz - sizeof(uintptr_t))
		err = -ENOENT;
	elf_close(search.file);
	*value = search.value;
	return err;
}

static int find_current(struct go_labels_layout *layout, struct elf *image, const char *path)
{
	const Elf64_Phdr *block = elf_find_segment(image, PT_TLS);
	uint64_t value;
	int err;

	layout->current = CURRENT_DEFAULT;
	if (!block || block->p_memsz == sizeof(uintptr_t))
		return 0;
	err = find_symbol(path, block, &value);
	if (!err)
		layout->current = thread_pointer_offset(value, block->p_memsz, block->p_align);
	return err;
}

static bool is_go(struct elf *image, uintptr_t bias)
{
	for (size_t i = 0; i < elf_segment_count(image); i++)
		if (go_note_is_in(bias, elf_segment(image, i)))
			return true;
	return false;
}

int go_labels_find(struct go_labels_layout *layout, struct elf *image, const struct module *module)
{
	char version[64];
	int err;

	memset(layout, 0, sizeof(*layout));
	if (ARCH_RA != 16 || !is_go(image, module->bias))
		return -ENOENT;
	err = find_version(image, module->bias, version, sizeof(version));
	if (err)
		return err == -ENOENT ? -ENOTSUP : err;
	err = layout_for_version(layout, version);
	return err ? err : find_current(layout, image, module->path);
}
