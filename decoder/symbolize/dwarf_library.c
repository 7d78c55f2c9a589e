/* libdw of elfutils, loaded by dlopen(3). */
#include "decoder/symbolize/dwarf_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "decoder/output/message.h"

#define FILE_NAME "libdw.so.1"

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define DWARF_ROW(name) { #name, offsetof(struct dwarf_library, name) },
	DWARF_FUNCTIONS(DWARF_ROW)
#undef DWARF_ROW
};

static struct dwarf_library library;

static int dwarf_library_load(void)
{
	void *handle = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL), *function;

	if (!handle) {
		message_print(
			"debug files are read with " FILE_NAME
			" of elfutils, which is not installed (Debian: apt-get install libdw1)");
		return -1;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		function = dlsym(handle, functions[i].name);
		if (!function) {
			message_print(FILE_NAME " has no %s: it is too old", functions[i].name);
			dlclose(handle);
			return -1;
		}
		memcpy((char *)&library + functions[i].offset, &function, sizeof(function));
	}
	library.elf_version(EV_CURRENT);
	return 0;
}

const struct dwarf_library *dwarf_library(void)
{
	static bool loaded;

	if (!loaded && dwarf_library_load())
		return NULL;
	loaded = true;
	return &library;
}
