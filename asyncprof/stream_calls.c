/* Replacements for the C library's functions that read lines and directories, for async-profiler. */
#include "asyncprof/stream_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asyncprof/block_allocator.h"
#include "asyncprof/fd_proxy.h"
#include "asyncprof/fd_calls.h"
#include "asyncprof/import_table.h"
#include "asyncprof/memory_calls.h"
#include "asyncprof/thread_list.h"
#include "asyncprof/thread_names.h"
#include "core/format.h"
#include "core/system.h"

#define LINE_BYTES 128

struct stream {
	int fd;
	size_t at, length; /* position and end of the read data */
	char data[8192];
};

/* The kernel's entries have the C library's format. */
_Static_assert(offsetof(struct dirent, d_reclen) == 16 && offsetof(struct dirent, d_name) == 19,
	       "getdents64(2)");

struct directory {
	int fd;
	bool is_of_threads;        /* /proc/self/task: shows only the program's threads */
	bool has_begun, is_at_end; /* reading has begun; all kernel entries are read */
	size_t at, length;
	size_t ended; /* position among the ended threads, which follow */
	_Alignas(struct dirent) char entries[32768];
};

/* The library also calls functions that cannot use a struct stream. */
static bool uses_other_functions;

static struct stream *stream_of(FILE *file)
{
	return block_is_ours(file) ? (struct stream *)(void *)file : NULL;
}

/* For these functions, a stream of the C library. */
static ssize_t cookie_read(void *cookie, char *data, size_t length)
{
	return engine_read((int)(intptr_t)cookie, data, length);
}

static int cookie_close(void *cookie)
{
	return engine_close((int)(intptr_t)cookie);
}

static FILE *open_library_stream(int fd)
{
	static const cookie_io_functions_t functions = { .read = cookie_read,
							 .close = cookie_close };

	return fopencookie((void *)(intptr_t)fd, "r", functions);
}

FILE *engine_fdopen(int fd, const char *mode)
{
	struct stream *stream;

	if (*mode != 'r') {
		errno = EACCES;
		return NULL;
	}
	if (uses_other_functions)
		return open_library_stream(fd);
	stream = block_allocate(sizeof(*stream));
	if (!stream)
		return NULL;
	stream->fd = fd;
	stream->at = stream->length = 0;
	return (FILE *)(void *)stream;
}

FILE *engine_fopen(const char *path, const char *mode)
{
	FILE *file;
	int fd;

	if (*mode != 'r') {
		errno = EACCES;
		return NULL;
	}
	fd = engine_open(path, O_RDONLY, 0);
	file = fd < 0 ? NULL : engine_fdopen(fd, mode);
	if (fd >= 0 && !file)
		engine_close(fd);
	return file;
}

/* Set *PIECE to the unread data up to and including END, and return its length. Reads more when there is none.
 * Returns 0 at the end of the file and on an error. */
static size_t stream_next_piece(struct stream *stream, const char **piece, int end)
{
	ssize_t length;
	const char *last;

	if (stream->at == stream->length) {
		length = engine_read(stream->fd, stream->data, sizeof(stream->data));
		stream->at = 0;
		stream->length = length < 0 ? 0 : (size_t)length;
	}
	*piece = stream->data + stream->at;
	last = memchr(*piece, end, stream->length - stream->at);
	return last ? (size_t)(last - *piece) + 1 : stream->length - stream->at;
}

char *engine_fgets(char *line, int size, FILE *file)
{
	struct stream *stream = stream_of(file);
	size_t room = size > 0 ? (size_t)size - 1 : 0, length = 0, bytes;
	const char *piece;

	if (!stream)
		return fgets(line, size, file);
	while (length < room && (bytes = stream_next_piece(stream, &piece, '\n'))) {
		if (bytes > room - length)
			bytes = room - length;
		memcpy(line + length, piece, bytes);
		stream->at += bytes;
		length += bytes;
		if (line[length - 1] == '\n')
			break;
	}
	if (size > 0)
		line[length] = '\0';
	return length ? line : NULL;
}

static bool line_reserve(char **line, size_t *size, size_t wanted)
{
	size_t bytes = LINE_BYTES;
	char *longer;

	if (*line && *size >= wanted)
		return true;
	while (bytes < wanted)
		bytes *= 2;
	longer = engine_realloc(*line, bytes);
	if (!longer)
		return false;
	*line = longer;
	*size = bytes;
	return true;
}

ssize_t engine_getdelim(char **line, size_t *size, int end, FILE *file)
{
	struct stream *stream = stream_of(file);
	size_t length = 0, bytes;
	const char *piece;

	if (!stream)
		return getdelim(line, size, end, file);
	while ((bytes = stream_next_piece(stream, &piece, end))) {
		if (!line_reserve(line, size, length + bytes + 1))
			return -1;
		memcpy(*line + length, piece, bytes);
		stream->at += bytes;
		length += bytes;
		if ((*line)[length - 1] == (char)end)
			break;
	}
	if (!length)
		return -1;
	(*line)[length] = '\0';
	return (ssize_t)length;
}

static ssize_t engine_getline(char **line, size_t *size, FILE *file)
{
	return engine_getdelim(line, size, '\n', file);
}

int engine_fclose(FILE *file)
{
	struct stream *stream = stream_of(file);
	int fd;

	if (!stream)
		return fclose(file);
	fd = stream->fd;
	block_free(stream);
	return engine_close(fd);
}

static struct directory *directory_of(DIR *dir)
{
	return (struct directory *)(void *)dir;
}

static void directory_rewind(struct directory *directory)
{
	directory->at = directory->length = 0;
	directory->has_begun = directory->is_at_end = false;
	directory->ended = 0;
}

DIR *engine_opendir(const char *path)
{
	int fd = engine_open(path, O_RDONLY | O_DIRECTORY, 0);
	struct directory *directory;

	if (fd < 0)
		return NULL;
	directory = block_allocate(sizeof(*directory));
	if (!directory) {
		engine_close(fd);
		return NULL;
	}
	directory->fd = fd;
	directory->is_of_threads = !strcmp(path, "/proc/self/task");
	directory_rewind(directory);
	return (DIR *)(void *)directory;
}

static long do_getdents(const long a[])
{
	long length = kernel_call4(SYS_getdents64, a[0], a[1], a[2], 0);

	if (length >= 0)
		return length;
	errno = (int)-length;
	return -1;
}

static void directory_add_thread(struct directory *directory, pid_t tid)
{
	struct dirent *entry = (struct dirent *)(void *)directory->entries;

	*entry = (struct dirent){ .d_ino = 1, .d_reclen = sizeof(*entry), .d_type = DT_DIR };
	format_text(entry->d_name, sizeof(entry->d_name), "%d", tid);
	directory->length = entry->d_reclen;
}

/* Leaves it empty when there are no more. */
static void directory_add_ended_thread(struct directory *directory)
{
	pid_t tid = directory->is_of_threads ? thread_names_next(&directory->ended) : 0;

	if (tid)
		directory_add_thread(directory, tid);
}

/* Read the next entries; none at the end. */
static void directory_read(struct directory *directory)
{
	bool begins = !directory->has_begun;
	long length;

	directory->at = directory->length = 0;
	directory->has_begun = true;
	if (directory->is_at_end) {
		directory_add_ended_thread(directory);
		return;
	}
	if (begins && directory->is_of_threads && thread_list_is_only_main()) {
		directory_add_thread(directory, getpid());
		directory->is_at_end = true;
		return;
	}
	length = fd_proxy_call(do_getdents, (const long[FD_PROXY_ARGUMENTS]){
						    directory->fd, (long)directory->entries,
						    sizeof(directory->entries) });
	directory->length = length < 0 ? 0 : (size_t)length;
	directory->is_at_end = !directory->length;
	if (directory->is_at_end)
		directory_add_ended_thread(directory);
}

static bool entry_is_shown(const struct directory *directory, const char *name)
{
	return !directory->is_of_threads || *name == '.' || thread_list_contains(atoi(name));
}

struct dirent *engine_readdir(DIR *dir)
{
	struct directory *directory = directory_of(dir);
	struct dirent *entry;

	if (!directory)
		return NULL;
	do {
		if (directory->at == directory->length)
			directory_read(directory);
		if (!directory->length)
			return NULL;
		entry = (struct dirent *)(void *)(directory->entries + directory->at);
		directory->at += entry->d_reclen;
	} while (!entry_is_shown(directory, entry->d_name));
	return entry;
}

void engine_rewinddir(DIR *dir)
{
	struct directory *directory = directory_of(dir);

	if (!directory)
		return;
	directory_rewind(directory);
	engine_lseek(directory->fd, 0, SEEK_SET);
}

int engine_closedir(DIR *dir)
{
	int fd;

	if (!dir)
		return -1;
	fd = directory_of(dir)->fd;
	block_free(dir);
	return engine_close(fd);
}

/* Set *ANY when the library calls one of NAMES, which end with NULL. */
static int library_calls_any(const void *inside, const char *const *names, bool *any)
{
	void *bound[32];
	size_t count = 0;
	int err;

	while (names[count])
		count++;
	err = import_table_read(inside, names, bound, count);
	*any = false;
	for (size_t i = 0; i < count; i++)
		*any |= bound[i] != NULL;
	return err;
}

int stream_calls_install(const void *inside)
{
	static const char *const of_directories[] = {
		"fdopendir", "dirfd", "readdir_r", "readdir64_r", "seekdir", "telldir", NULL,
	};
	static const char *const of_files[] = {
		"clearerr", "feof",     "ferror", "fgetc",   "fgets_unlocked",  "fileno",  "fread",
		"freopen",  "fscanf",   "fseek",  "fseeko",  "__isoc99_fscanf", "ftell",   "ftello",
		"getc",     "_IO_getc", "rewind", "setvbuf", "ungetc",          "vfscanf", NULL,
	};
	static const struct import ours[] = {
		{ "fopen", (void *)engine_fopen },
		{ "fopen64", (void *)engine_fopen },
		{ "fdopen", (void *)engine_fdopen },
		{ "fgets", (void *)engine_fgets },
		{ "getline", (void *)engine_getline },
		{ "getdelim", (void *)engine_getdelim },
		{ "__getdelim", (void *)engine_getdelim },
		{ "fclose", (void *)engine_fclose },
		{ "opendir", (void *)engine_opendir },
		{ "readdir", (void *)engine_readdir },
		{ "readdir64", (void *)engine_readdir },
		{ "rewinddir", (void *)engine_rewinddir },
		{ "closedir", (void *)engine_closedir },
	};
	bool calls_other = false;
	int err = library_calls_any(inside, of_files, &uses_other_functions);

	if (!err)
		err = library_calls_any(inside, of_directories, &calls_other);
	if (!err && calls_other)
		return -ENOTSUP;
	return err ? err : import_table_redirect(inside, ours, sizeof(ours) / sizeof(ours[0]));
}
