/* Interposes fopen(3), by which a program may read how many threads it has, so that it is not told of ours. CPython
 * does at each fork, from 3.12 on, and warns on standard error where there is more than one. */
#include <stdio.h>
#include <string.h>

#include "core/format.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/shared.h"
#include "core/system.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"

#define PATH "/proc/self/stat"

/* A thread of ours is about to begin, or has ended and is there still, for less than this together. */
#define SETTLE_TRIES 50
#define SETTLE_NS    1000000

/* What a stream reads in place of the file. */
struct text {
	size_t length, at;
	char bytes[1024];
};

static ssize_t text_read(void *cookie, char *bytes, size_t size)
{
	struct text *text = cookie;
	size_t left = text->length - text->at;

	if (size > left)
		size = left;
	memcpy(bytes, text->bytes + text->at, size);
	text->at += size;
	return (ssize_t)size;
}

static int text_seek(void *cookie, off_t *offset, int whence)
{
	struct text *text = cookie;
	off_t from = whence == SEEK_CUR   ? (off_t)text->at
		     : whence == SEEK_END ? (off_t)text->length
					  : 0;

	if (*offset < -from || *offset > (off_t)text->length - from)
		return -1;
	*offset += from;
	text->at = (size_t)*offset;
	return 0;
}

static int text_close(void *cookie)
{
	system_unmap(cookie, sizeof(struct text));
	return 0;
}

/* Of ALL threads. Those that async-profiler has just made are not known for its own yet. */
static uint32_t program_thread_count(uint32_t all, uint32_t ours)
{
	uint32_t left = all > ours ? all - ours : 1, made = thread_alive_count();

	return shared->async_profiler && made < left ? made : left;
}

/* The threads are field 20; the name, the second, may hold anything. Source: proc_pid_stat(5). */
static bool text_subtract_threads(struct text *text, uint32_t ours)
{
	char rest[sizeof(text->bytes)], *at = strrchr(text->bytes, ')');
	const char *end;
	uint32_t count = 0;

	for (int field = 2; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return false;
	for (end = ++at; *end >= '0' && *end <= '9'; end++)
		count = 10 * count + (uint32_t)(*end - '0');
	if (!count)
		return false;
	strcpy(rest, end);
	text->length = (size_t)(at - text->bytes);
	text->length += format_text(at, sizeof(text->bytes) - text->length, "%u%s",
				    program_thread_count(count, ours), rest);
	return true;
}

/* Read STREAM while as many of ours are there all the time, if that can be had. */
static bool read_settled(struct text *text, FILE *stream, uint32_t *ours)
{
	uint32_t then = *ours;
	bool settled;

	for (int tries = 0; tries < SETTLE_TRIES; tries++) {
		settled = own_thread_is_settled();
		*ours = privileges_checker_count();
		memset(text->bytes, 0, sizeof(text->bytes));
		if (!fread(text->bytes, 1, sizeof(text->bytes) - 1, stream))
			return false;
		then = privileges_checker_count();
		if (settled && then == *ours && own_thread_is_settled())
			return true;
		system_sleep(SETTLE_NS);
		rewind(stream);
	}
	*ours = then > *ours ? then : *ours;
	return true;
}

/* STREAM, or another in its place. */
static COLD FILE *stream_hide_own_threads(uint32_t ours, FILE *stream)
{
	/* (Put together here: a table would be one more that the loader writes addresses into.) */
	cookie_io_functions_t functions = { .read = text_read,
					    .seek = text_seek,
					    .close = text_close };
	struct text *text = system_map(sizeof(*text)); /* zeroed: what is read ends with a NUL */
	FILE *shown = NULL;

	if (text && read_settled(text, stream, &ours) && text_subtract_threads(text, ours))
		shown = fopencookie(text, "r", functions);
	if (shown) {
		REAL(fclose)(stream);
		return shown;
	}
	if (text)
		system_unmap(text, sizeof(*text));
	rewind(stream);
	return stream;
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	FILE *stream = REAL(fopen)(path, mode);

	/* (Where there is none of ours now, one may be there when the program reads.) */
	if (!stream || strcmp(path, PATH) != 0 || !hooks_get())
		return stream;
	return stream_hide_own_threads(privileges_checker_count(), stream);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	return fopen(path, mode);
}
