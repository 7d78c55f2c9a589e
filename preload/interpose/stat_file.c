/* Interposes fopen(3) of the file that has the number of threads, to hide the agent's threads. CPython 3.12 and
 * later reads it at each fork, and warns on standard error if there is more than one thread.
 *
 * The program gets a stream with own functions (fopencookie(3)) and the descriptor of the file. C++ streams read
 * the descriptor, and see the real file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/format.h"
#include "core/kernel.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/shared.h"
#include "core/system.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"

#define PATH "/proc/self/stat"

/* Limit of the wait while an own thread starts, or has ended but still exists. */
#define SETTLE_TRIES 50
#define SETTLE_NS    1000000

/* Offset of the descriptor, an int, in a stream of glibc and musl. */
#define GLIBC_OFFSET 112
#define MUSL_OFFSET  120

/* Content of the stream. */
struct text {
	FILE *file; /* the real stream; nothing is read from it */
	size_t length, at;
	char bytes[1024];
};

/* Return the number of the program's threads, of ALL. Threads that async-profiler has just created may not be known
 * yet. */
static uint32_t program_thread_count(uint32_t all, uint32_t ours)
{
	uint32_t left = all > ours ? all - ours : 1, made = thread_alive_count();

	return shared->async_profiler && made < left ? made : left;
}

/* Subtract OURS from the number of threads, field 20. The name, field 2, may contain anything. Source:
 * proc_pid_stat(5). */
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

/* Read the file while the number of own threads does not change, if possible. Returns 0 or -errno. */
static int text_read_settled(struct text *text)
{
	uint32_t ours, then;
	bool settled;
	long length;

	for (int tries = 0;; tries++) {
		settled = own_thread_is_settled();
		ours = privileges_checker_count();
		length = kernel_call4(SYS_pread64, fileno(text->file), (long)text->bytes,
				      sizeof(text->bytes) - 1, 0);
		if (length < 0)
			return (int)length;
		then = privileges_checker_count();
		if ((settled && then == ours && own_thread_is_settled()) || tries == SETTLE_TRIES)
			break;
		system_sleep(SETTLE_NS);
	}
	text->bytes[length] = '\0';
	text->length = (size_t)length;
	text_subtract_threads(text, then > ours ? then : ours);
	return 0;
}

/* At offset 0 the file is read again. */
static ssize_t text_read(void *cookie, char *bytes, size_t size)
{
	struct text *text = cookie;
	int err = text->at ? 0 : text_read_settled(text);
	size_t left = text->at < text->length ? text->length - text->at : 0;

	if (err) {
		errno = -err;
		return -1;
	}
	if (size > left)
		size = left;
	memcpy(bytes, text->bytes + text->at, size);
	text->at += size;
	return (ssize_t)size;
}

/* As the kernel: such a file has no end. */
static int text_seek(void *cookie, off_t *offset, int whence)
{
	struct text *text = cookie;
	off_t from = whence == SEEK_CUR ? (off_t)text->at : 0;

	if (whence == SEEK_END || *offset < -from) {
		errno = EINVAL;
		return -1;
	}
	*offset += from;
	text->at = (size_t)*offset;
	return 0;
}

static int text_close(void *cookie)
{
	struct text *text = cookie;
	int result = REAL(fclose)(text->file);

	system_unmap(text, sizeof(*text));
	return result;
}

static int *stream_descriptor(FILE *stream)
{
	return (int *)((char *)stream + (gnu_get_libc_version ? GLIBC_OFFSET : MUSL_OFFSET));
}

/* Return another stream for FILE; FILE itself on failure. */
static COLD FILE *stream_hide_own_threads(FILE *file)
{
	/* (Not a constant table: the dynamic linker would write addresses to it.) */
	cookie_io_functions_t functions = { .read = text_read,
					    .seek = text_seek,
					    .close = text_close };
	struct text *text;
	FILE *shown;

	if (*stream_descriptor(file) != fileno(file))
		return file; /* another C library */
	text = system_map(sizeof(*text));
	if (!text)
		return file;
	text->file = file;
	shown = fopencookie(text, "r", functions);
	if (!shown) {
		system_unmap(text, sizeof(*text));
		return file;
	}
	*stream_descriptor(shown) = fileno(file);
#if defined(__GLIBC__)
	/* Its initial value makes freopen(3) of such a stream fault. */
	if (gnu_get_libc_version)
		shown->_wide_data = NULL;
#endif
	return shown;
}

#define FOPEN(name)                                                                            \
	EXPORT FILE *name(const char *path, const char *mode)                                  \
	{                                                                                      \
		FILE *stream = REAL(name)(path, mode);                                         \
		int saved = errno;                                                             \
                                                                                               \
		/* (Even without an agent now: there may be one when the program reads.) */    \
		if (!stream || strcmp(path, PATH) != 0 || *mode != 'r' || strchr(mode, '+') || \
		    !hooks_get())                                                              \
			return stream;                                                         \
		stream = stream_hide_own_threads(stream);                                      \
		errno = saved;                                                                 \
		return stream;                                                                 \
	}

FOPEN(fopen)
FOPEN(fopen64)
