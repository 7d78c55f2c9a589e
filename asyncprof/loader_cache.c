/* The dynamic linker's cache. Source: glibc's dl-cache.h, dl-cache.c and ldconfig.h. */
#include "asyncprof/loader_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/kernel.h"
#include "core/system.h"

#define MAGIC "glibc-ld.so.cache1.1"

/* Longer names are truncated: they only have to differ from the wanted name. */
#define NAME_BYTES 128

/* An entry's flags have the processor and the kind of C library. */

struct header {
	char magic[20];
	uint32_t entries, string_bytes;
	uint32_t unused[5];
};

struct entry {
	uint32_t flags;
	uint32_t soname, path; /* offsets of strings from the start of the header */
	uint32_t os_version;
	uint64_t hardware;
};

/* Return the bytes read, fewer at the end; 0 on an error. */
static size_t cache_read(int fd, void *data, size_t size, uint64_t offset)
{
	long n = kernel_call4(SYS_pread64, fd, (long)data, (long)size, (long)offset);

	return n < 0 ? 0 : (size_t)n;
}

static bool entry_read(int fd, uint32_t i, struct entry *entry)
{
	return cache_read(fd, entry, sizeof(*entry),
			  sizeof(struct header) + i * (uint64_t)sizeof(*entry)) == sizeof(*entry);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static uint64_t read_number(const char **text)
{
	uint64_t number = 0;

	while (is_digit(**text))
		number = number * 10 + (uint64_t)(*(*text)++ - '0');
	return number;
}

/* Compare as the cache sorts its entries (in reverse): digits form numbers, and are after other characters. */
static int names_compare(const char *a, const char *b)
{
	while (*a) {
		if (is_digit(*a) && is_digit(*b)) {
			uint64_t x = read_number(&a), y = read_number(&b);

			if (x != y)
				return x < y ? -1 : 1;
		} else if (is_digit(*a) || is_digit(*b)) {
			return is_digit(*a) ? 1 : -1;
		} else if (*a != *b) {
			return *a < *b ? -1 : 1;
		} else {
			a++;
			b++;
		}
	}
	return *b ? -1 : 0;
}

/* Compare SONAME with the name of entry I; -1 when it cannot be read. Sets *ENTRY. */
static int entry_compare(int fd, uint32_t i, const char *soname, struct entry *entry)
{
	char name[NAME_BYTES];
	size_t length;

	if (!entry_read(fd, i, entry))
		return -1;
	length = cache_read(fd, name, sizeof(name) - 1, entry->soname);
	name[length] = '\0';
	return names_compare(soname, name);
}

static bool entry_read_path(char path[PATH_MAX], int fd, const struct entry *entry)
{
	size_t length = cache_read(fd, path, PATH_MAX, entry->path);

	return length && *path == '/' && memchr(path, '\0', length);
}

int loader_cache_find(char path[PATH_MAX], const char *soname, int fd)
{
	struct header header;
	struct entry entry;
	uint32_t low = 0, high, middle;

	if (cache_read(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.magic, MAGIC, sizeof(header.magic)) != 0)
		return -ENOENT;
	for (high = header.entries; low < high;) {
		middle = low + (high - low) / 2;
		if (entry_compare(fd, middle, soname, &entry) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* Entries for certain processors only cannot be used. */
	for (; low < header.entries && !entry_compare(fd, low, soname, &entry); low++)
		if (entry.flags == ARCH_LOADER_CACHE_FLAGS && !entry.hardware &&
		    entry_read_path(path, fd, &entry))
			return 0;
	return -ENOENT;
}
