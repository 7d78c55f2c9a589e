/* Any bytes as a module in memory, whose symbols are found by its own dynamic section. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/elf/image_symbols.h"
#include "engine/symbols/symbol_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MODULE_BYTES (64u << 10)
#define ADDRESSES    64

static void read_symbols(struct elf *image)
{
	struct symbol_match matches[ADDRESSES] = { 0 };
	Elf64_Shdr symbols, strings;
	char name[64];

	if (image_symbols(image, &symbols, &strings))
		return;
	for (size_t i = 0; i < ADDRESSES; i++)
		matches[i].address = i * (MODULE_BYTES / ADDRESSES);
	if (symbol_table_match(image, &symbols, &strings, matches, ADDRESSES))
		return;
	for (size_t i = 0; i < ADDRESSES; i++)
		elf_string(image, &strings, matches[i].name, name, sizeof(name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *module;
	struct elf *image;

	/* Between two unmapped pages: a read beyond it fails, and does not fault. */
	if (!module) {
		module = mmap(NULL, MODULE_BYTES + 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
		if (module == MAP_FAILED ||
		    mprotect(module + 4096, MODULE_BYTES, PROT_READ | PROT_WRITE))
			__builtin_trap();
		module += 4096;
	}
	if (size > MODULE_BYTES)
		return 0;
	memset(module, 0, MODULE_BYTES);
	memcpy(module, data, size);
	if (!elf_open_image(&image, (uintptr_t)module, MODULE_BYTES)) {
		read_symbols(image);
		elf_close(image);
	}
	return 0;
}
