/* Names of generated code, from the list that its generator writes. */
#include "engine/symbols/perf_map.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "engine/process/perf_list.h"

#define BUFFER_BYTES 32768

/* A list grows while the program compiles. Only the end of a longer list is read, so a chunk costs
 * at most a fraction of a second. */
#define READ_MAX (64u << 20)

struct reading {
	struct symbol_entry **entries;
	size_t count;
	struct string_pool *strings;
	char *buffer;
	bool is_inside_line; /* in a line whose start was not read: the rest of it is skipped */
};

/* Parse a hexadecimal number at *AT and advance *AT past it. */
static bool parse_hex(char **at, uint64_t *value)
{
	char *start = *at;

	*value = strtoull(start, at, 16);
	return isxdigit((unsigned char)*start) && *value != UINT64_MAX;
}

static size_t entry_first_at(const struct reading *reading, uint64_t address)
{
	size_t low = 0, high = reading->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reading->entries[middle]->address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Parse a line "START SIZE NAME"; malformed lines are skipped. Returns 0 or -ENOMEM. */
static int reading_parse_line(struct reading *reading, char *line)
{
	uint64_t start, size;
	const char *name = NULL;

	if (!parse_hex(&line, &start) || *line++ != ' ' || !parse_hex(&line, &size) ||
	    *line++ != ' ' || !*line)
		return 0;
	for (size_t i = entry_first_at(reading, start);
	     i < reading->count && reading->entries[i]->address - start < size; i++) {
		if (!name)
			name = string_pool_intern(reading->strings, line);
		if (!name)
			return -ENOMEM;
		reading->entries[i]->name = name;
		reading->entries[i]->start = start;
	}
	return 0;
}

/* Parse all complete lines in the first N bytes of the buffer; *USED is their length. */
static int reading_parse_lines(struct reading *reading, size_t n, size_t *used)
{
	char *line = reading->buffer, *end;
	int err = 0;

	while (!err && (end = memchr(line, '\n', n - (size_t)(line - reading->buffer)))) {
		*end = '\0';
		if (!reading->is_inside_line)
			err = reading_parse_line(reading, line);
		reading->is_inside_line = false;
		line = end + 1;
	}
	*used = (size_t)(line - reading->buffer);
	/* A line that exceeds the buffer is not the name of a function. */
	if (!*used && n == BUFFER_BYTES) {
		*used = n;
		reading->is_inside_line = true;
	}
	return err;
}

/* Read from *AT to SIZE, and set *AT to the end of the last complete line. */
static int reading_read_lines(struct reading *reading, int fd, uint64_t *at, uint64_t size)
{
	size_t n, used;
	int err;

	for (; *at < size; *at += used) {
		n = size - *at < BUFFER_BYTES ? (size_t)(size - *at) : BUFFER_BYTES;
		err = fd_read(fd, reading->buffer, n, (off_t)*at);
		if (!err)
			err = reading_parse_lines(reading, n, &used);
		if (err)
			return err;
		if (!used)
			break; /* the line is still being written */
	}
	return 0;
}

/* Offset to read from: the first byte that the least read entry has not seen. */
static uint64_t first_unread(struct perf_map *map, const struct stat *st,
			     struct symbol_entry **entries, size_t count)
{
	uint64_t size = (uint64_t)st->st_size, at = size;
	bool same = map->device == st->st_dev && map->inode == st->st_ino && size >= map->end;

	map->device = st->st_dev;
	map->inode = st->st_ino;
	for (size_t i = 0; i < count; i++) {
		if (!same)
			entries[i]->scanned = 0;
		if (entries[i]->scanned < at)
			at = entries[i]->scanned;
	}
	return at;
}

int perf_map_resolve(struct perf_map *map, const char *path, struct symbol_entry **entries,
		     size_t count, struct string_pool *strings)
{
	struct reading reading = { .entries = entries, .count = count, .strings = strings };
	struct stat st;
	uint64_t at, size;
	int fd, err = 0;

	fd = perf_list_open(path, &st);
	if (fd < 0)
		return fd;
	at = first_unread(map, &st, entries, count);
	size = (uint64_t)st.st_size;
	if (size - at > READ_MAX) {
		at = size - READ_MAX;
		reading.is_inside_line = true;
	}
	reading.buffer = malloc(BUFFER_BYTES);
	if (!reading.buffer)
		err = -ENOMEM;
	else
		err = reading_read_lines(&reading, fd, &at, size);
	if (!err) {
		map->end = at;
		for (size_t i = 0; i < count; i++)
			entries[i]->scanned = at;
	}
	free(reading.buffer);
	close(fd);
	return err;
}
