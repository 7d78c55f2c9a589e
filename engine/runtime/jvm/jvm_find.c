/* Search for a Java machine in this process. */
#include "engine/runtime/jvm/jvm_find.h"

#include <unistd.h>

#include "engine/elf/image_symbols.h"
#include "engine/process/perf_list.h"

/* Only HotSpot has both; other machines have other stack layouts. */
static const char *const symbols[] = { "JNI_CreateJavaVM", "gHotSpotVMStructs" };

int jvm_find(struct jvm *jvm, struct elf *image, const struct module *module)
{
	Elf64_Sym symbol;
	int err = 0;

	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols) && !err; i++)
		err = image_symbol(image, symbols[i], &symbol);
	if (err)
		return err;
	jvm->runtime.kind = RUNTIME_JVM;
	jvm->runtime.text = module->start;
	jvm->runtime.text_end = module->end;
	jvm->runtime.has_jit = true;
	return 0;
}

bool jvm_find_names(struct jvm *jvm)
{
	struct stat st;
	char path[64];
	int fd;

	if (jvm->has_names)
		return false;
	perf_list_path(path, sizeof(path));
	fd = perf_list_open(path, &st);
	if (fd < 0)
		return false;
	close(fd);
	jvm->has_names = true;
	return true;
}
