/* Import: table of the formats. */
#include "profile/import/import.h"

#include <errno.h>
#include <string.h>

#include "profile/import/import_formats.h"

struct import_format {
	const char *name;
	bool (*matches)(const uint8_t *data, size_t length);
	int (*read)(struct import_input *input, struct import_writer *w);
};

/* In the order of their tests: the least specific one is last. */
static const struct import_format formats[] = {
	{ "an async-profiler flame graph", import_html_matches, import_html_read },
	{ "perf script output", import_perf_matches, import_perf_read },
	{ "folded stacks", import_collapsed_matches, import_collapsed_read },
	{ "a pprof profile", import_pprof_matches, import_pprof_read },
};

const struct import_format *import_find_format(const uint8_t *data, size_t length)
{
	for (size_t i = 0; length && i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i].matches(data, length))
			return &formats[i];
	return NULL;
}

const char *import_format_name(const struct import_format *format)
{
	return format->name;
}

int import_convert(const struct import_format *format, const uint8_t *data, size_t length, int fd,
		   int64_t time_ns, struct import_problem *problem)
{
	struct import_input input = { .data = data, .length = length, .time_ns = time_ns };
	struct import_writer w;
	int err = import_writer_open(&w, fd, length), written;

	if (!err)
		err = format->read(&input, &w);
	written = import_writer_close(&w);
	*problem = (struct import_problem){ .offset = input.offset, .what = input.what };
	return written ? written : err;
}
