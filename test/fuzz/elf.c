/* Any bytes as an ELF file for the reader and its users: the choice of symbols, PLT stubs, packed
 * symbols. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/elf/elf.h"
#include "engine/elf/elf_identity.h"
#include "engine/runtime/go/go_functions.h"
#include "engine/symbols/debug_file.h"
#include "engine/symbols/plt.h"
#include "engine/symbols/symbol_table.h"
#include "engine/symbols/unwind_entries.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADDRESSES 64

/* Addresses all over the segments, in order. */
static size_t spread(struct elf *elf, struct symbol_match *matches)
{
	const Elf64_Phdr *segment = elf_find_segment(elf, PT_LOAD);
	uint64_t start = segment ? segment->p_vaddr : 0;
	uint64_t step = segment ? segment->p_memsz / ADDRESSES + 1 : 64;
	size_t count = 0;

	memset(matches, 0, ADDRESSES * sizeof(*matches));
	while (count < ADDRESSES && start + count * step >= start) {
		matches[count].address = start + count * step;
		count++;
	}
	return count;
}

static void read_symbols(struct elf *elf)
{
	struct symbol_match matches[ADDRESSES];
	size_t count = spread(elf, matches);
	const Elf64_Shdr *strings;
	char name[64];

	for (size_t i = 0; i < elf_section_count(elf) && i < 32; i++) {
		const Elf64_Shdr *table = elf_section(elf, i);

		strings = elf_section(elf, table->sh_link);
		if (strings && !symbol_table_match(elf, table, strings, matches, count))
			for (size_t m = 0; m < count; m++)
				elf_string(elf, strings, matches[m].name, name, sizeof(name));
		count = spread(elf, matches);
	}
	plt_match(elf, matches, count, &strings);
	unwind_entries_match(elf, matches, count);
	for (size_t i = 0; i < elf_section_count(elf) && i < 32; i++) {
		const Elf64_Shdr *table = elf_section(elf, i);

		strings = elf_section(elf, table->sh_link);
		if (strings)
			plt_match_resolvers(elf, table, strings, matches, count);
	}
}

static void no_stretch(void *context, uint64_t start, uint64_t end, int64_t grown)
{
	(void)context;
	(void)start;
	(void)end;
	(void)grown;
}

static void read_go(struct elf *elf)
{
	struct go_functions *functions;
	struct go_function function;
	char name[64];
	size_t n;

	if (go_functions_open(&functions, elf, NULL, NULL, 0))
		return;
	go_functions_find_inlined(functions, NULL, NULL, 0);
	for (size_t i = 0; i < go_functions_count(functions) && i < ADDRESSES; i++)
		if (!go_functions_get(functions, i, &function)) {
			go_functions_name(functions, &function, name, sizeof(name));
			go_functions_stack(functions, &function, no_stretch, NULL);
			go_functions_inlined(functions, &function, function.start, name,
					     sizeof(name));
			go_functions_find(functions, function.start, &n);
		}
	go_functions_close(functions);
}

static void read_notes(struct elf *elf)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	char name[ELF_NAME_MAX];
	struct elf *packed;
	uint32_t crc;

	elf_build_id(elf, id);
	elf_debug_link(elf, name, &crc);
	elf_crc32(elf, &crc);
	if (!debug_file_unpack(&packed, elf)) {
		read_symbols(packed);
		elf_close(packed);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* aligned, and of exactly that length */
	struct elf *elf;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (!elf_open_buffer(&elf, copy, size)) {
		read_symbols(elf);
		read_notes(elf);
		read_go(elf);
		elf_close(elf);
	}
	free(copy);
	return 0;
}
