/* Any bytes as the list of code that is generated at run time, which any code in the process may
 * write: half of it first, then all of it, as it grows. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/symbols/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ENTRIES 64

static char path[] = "/dev/shm/asprof-fuzz-XXXXXX"; /* a disk would take most of the time */

static void remove_list(void)
{
	unlink(path);
}

static int list(void)
{
	static int fd = -1;

	if (fd >= 0)
		return fd;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0 || atexit(remove_list))
		abort();
	return fd;
}

/* Addresses near the small ones at the start of lists, and far from each other. */
static void spread(struct symbol_entry *entries, struct symbol_entry **sorted)
{
	memset(entries, 0, ENTRIES * sizeof(*entries));
	for (size_t i = 0; i < ENTRIES; i++) {
		entries[i].address =
			i < ENTRIES / 2 ? 0x1000 + i * 8 : (UINT64_MAX / ENTRIES) * (i + 1);
		sorted[i] = &entries[i];
	}
}

static void check(const struct symbol_entry *entries, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		if (!entries[i].name)
			continue;
		if (entries[i].start > entries[i].address ||
		    !memmem(data, size, entries[i].name, strlen(entries[i].name)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_entry entries[ENTRIES], *sorted[ENTRIES];
	struct string_pool strings = { 0 };
	struct perf_map map = { 0 };
	size_t parts[] = { size / 2, size };
	int fd = list();

	spread(entries, sorted);
	for (size_t i = 0; i < 2; i++) {
		if (ftruncate(fd, 0) || pwrite(fd, data, parts[i], 0) != (ssize_t)parts[i])
			abort();
		if (perf_map_resolve(&map, path, sorted, ENTRIES, &strings))
			abort();
		check(entries, data, size);
	}
	string_pool_free(&strings);
	return 0;
}
