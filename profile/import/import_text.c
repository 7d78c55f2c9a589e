/* Parts of the importers: lines, numbers, names. */
#include "profile/import/import_text.h"

#include <errno.h>
#include <string.h>

int import_reject(struct import_input *input, const void *at, const char *what)
{
	input->offset = (uint64_t)((const uint8_t *)at - input->data);
	input->what = what;
	return -EBADMSG;
}

bool import_next_line(struct import_line *line, const char *at, const char *end)
{
	const char *newline;

	if (at >= end)
		return false;
	newline = memchr(at, '\n', (size_t)(end - at));
	line->text = at;
	line->end = newline ? newline : end;
	line->next = newline ? newline + 1 : end;
	if (line->end > at && line->end[-1] == '\r')
		line->end--;
	return true;
}

bool import_read_number(const char **at, const char *end, uint64_t *number)
{
	const char *start = *at;

	*number = 0;
	for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(**at - '0'), number))
			return false;
	return *at > start;
}

bool import_read_thread(struct import_sample *sample, const char *text, size_t length)
{
	static const char mark[] = "tid=";
	const char *end = text + length - 1, *at = end;
	uint64_t tid;

	if (length < strlen("[tid=1]") || *text != '[' || *end != ']')
		return false;
	while (at > text && at[-1] >= '0' && at[-1] <= '9')
		at--;
	if (at - text < (ptrdiff_t)strlen(mark) + 1 || memcmp(at - strlen(mark), mark, 4) ||
	    !import_read_number(&at, end, &tid) || !tid || tid > INT32_MAX)
		return false;
	sample->tid = (uint32_t)tid;
	for (at = text + 1; at < end && memcmp(at, mark, strlen(mark)); at++)
		;
	sample->thread = (struct import_text){ text + 1, (size_t)(at - text - 1) };
	while (sample->thread.length && sample->thread.text[sample->thread.length - 1] == ' ')
		sample->thread.length--;
	return true;
}

struct import_text import_file_name(struct import_text path)
{
	for (size_t at = path.length; at; at--)
		if (path.text[at - 1] == '/')
			return (struct import_text){ path.text + at, path.length - at };
	return path;
}
