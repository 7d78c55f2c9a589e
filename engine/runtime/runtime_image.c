/* Facts about an interpreter from the dynamic symbols of its module. */
#include "engine/runtime/runtime_image.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/elf/image_symbols.h"
#include "engine/process/mapped_file.h"
#include "engine/reading/process_memory.h"

/* The ELF header is at the bias, unless the file is linked for a fixed address. */
int runtime_image_open(struct elf **image, const struct module *module)
{
	struct mapped_file file;
	uintptr_t start = module->bias;
	int err;

	if (start && !elf_open_image(image, start, UINTPTR_MAX - start))
		return 0;
	err = mapped_file_at(&file, module->start);
	if (err)
		return err;
	free(file.path);
	return file.start ? elf_open_image(image, file.start, UINTPTR_MAX - file.start) : -ENOENT;
}

int runtime_image_constant(struct elf *image, uintptr_t bias, const char *name, int32_t *value)
{
	Elf64_Sym symbol;
	int err = image_symbol(image, name, &symbol);

	return err ? err : process_memory_read(bias + symbol.st_value, value, sizeof(*value));
}
