/* Any bytes as a program's description of its threads' contexts: the names of the attributes. */
#include <stdlib.h>
#include <string.h>

#include "engine/context/process_context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process_context context = PROCESS_CONTEXT_INIT;
	const char *key;

	if (process_context_parse(&context, data, size))
		abort();
	for (unsigned i = 0; i < 256; i++) {
		key = process_context_attribute_name(&context, (uint8_t)i);
		if (key && strlen(key) > size)
			abort();
	}
	buf_free(&context.keys);
	return 0;
}
