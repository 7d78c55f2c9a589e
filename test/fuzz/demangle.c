/* Any bytes as a symbol for the demangler, unchanged and after each prefix of a mangled name. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/symbols/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const starts[] = { "", "_Z", "_ZN", "_R", "_RNvC" };
	static struct demangler *demangler;
	char *symbol = malloc(size + 8);
	const char *name;

	if (!symbol || (!demangler && demangler_open(&demangler)))
		abort();
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		size_t length = strlen(starts[i]);

		memcpy(symbol, starts[i], length);
		memcpy(symbol + length, data, size);
		symbol[length + size] = '\0';
		name = demangle(demangler, symbol);
		if (name && (!*name || !demangle_wanted(symbol)))
			abort();
	}
	free(symbol);
	return 0;
}
