/* Any bytes as the contents of /proc/self/maps, where names of files may be anything: the mapping
 * at an address, and the names of a stack's positions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/memory/mem_stack_text.c"
#include "engine/process/mapped_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uintptr_t addresses[] = { 0, 0x400123, 0x7f0000001234, UINTPTR_MAX };

#define COUNT (sizeof(addresses) / sizeof(*addresses))

static void find(const uint8_t *data, size_t size, uintptr_t address)
{
	FILE *maps = fmemopen((void *)(uintptr_t)data, size, "r");
	struct mapped_file file = { .path = NULL };
	int err;

	if (!maps)
		abort();
	err = mapped_file_find(&file, maps, address);
	if (err ? err != -ENOENT
		: !file.path || file.path[0] != '/' ||
			    !memmem(data, size, file.path, strlen(file.path)))
		abort();
	free(file.path);
	fclose(maps);
}

static void name(const uint8_t *data, size_t size)
{
	struct places places = { .count = COUNT };
	char *text = malloc(size + 1), *line = text, *end;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t i = 0; i < COUNT; i++)
		places.place[i].pc = addresses[i];
	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		places_read_line(&places, line);
	}
	for (size_t i = 0; i < COUNT; i++)
		if (strnlen(places.place[i].name, sizeof(places.place[i].name)) ==
		    sizeof(places.place[i].name))
			abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t i = 0; size && i < COUNT; i++)
		find(data, size, addresses[i]);
	name(data, size);
	return 0;
}
