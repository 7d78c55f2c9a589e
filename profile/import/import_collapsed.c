/* Import of folded stacks: lines of "outermost;...;innermost COUNT". */
#include <errno.h>
#include <string.h>

#include "profile/import/import_formats.h"

/* Split LINE at its count. Returns false if it has none. */
static bool split_count(const struct import_line *line, const char **stack_end, uint64_t *count)
{
	const char *at = line->end, *digits;

	while (at > line->text && at[-1] >= '0' && at[-1] <= '9')
		at--;
	digits = at;
	if (at == line->end || at == line->text || (at[-1] != ' ' && at[-1] != '\t'))
		return false;
	while (at > line->text && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	*stack_end = at;
	return import_read_number(&digits, line->end, count) && at > line->text;
}

static bool line_is_ignored(const struct import_line *line)
{
	return line->text == line->end || *line->text == '#';
}

bool import_collapsed_matches(const uint8_t *data, size_t length)
{
	const char *at = (const char *)data, *end = at + length, *stack_end;
	struct import_line line;
	uint64_t count;

	for (; import_next_line(&line, at, end); at = line.next) {
		if (memchr(line.text, '\0', (size_t)(line.end - line.text)))
			return false;
		if (!line_is_ignored(&line))
			return split_count(&line, &stack_end, &count);
	}
	return false;
}

/* Marks of async-profiler and of FlameGraph's scripts for the type of a frame. */
static const struct {
	const char *suffix;
	enum jfr_frame_type type;
} suffixes[] = {
	{ "_[0]", JFR_FRAME_INTERPRETED }, { "_[j]", JFR_FRAME_JIT }, { "_[i]", JFR_FRAME_INLINED },
	{ "_[k]", JFR_FRAME_KERNEL },      { "_[1]", JFR_FRAME_C1 },
};

static void add_frame(struct import_writer *w, const char *text, size_t length)
{
	struct import_frame frame = { .name = { text, length }, .type = JFR_FRAME_NATIVE };

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (length > 4 && !memcmp(text + length - 4, suffixes[i].suffix, 4)) {
			frame.type = suffixes[i].type;
			frame.name.length = length - 4;
			break;
		}
	import_stack_add(w, &frame);
}

static int read_line(struct import_input *input, struct import_writer *w,
		     const struct import_line *line)
{
	struct import_sample sample = { .kind = IMPORT_CPU, .time_ns = input->time_ns };
	const char *first = line->text, *frame, *stack_end;

	if (!split_count(line, &stack_end, &sample.count))
		return import_reject(input, line->text, "a line without a stack and a count");
	frame = memchr(first, ';', (size_t)(stack_end - first));
	if (import_read_thread(&sample, first, (size_t)((frame ? frame : stack_end) - first)))
		first = frame ? frame + 1 : stack_end;
	import_stack_begin(w);
	for (const char *end = stack_end; end >= first;
	     end = frame - 1) { /* the leaf is the last */
		frame = memrchr(first, ';', (size_t)(end - first));
		frame = frame ? frame + 1 : first;
		if (end > frame)
			add_frame(w, frame, (size_t)(end - frame));
	}
	if (sample.count && import_write_sample(w, &sample))
		return import_reject(input, line->text, IMPORT_TOO_LARGE);
	return 0;
}

int import_collapsed_read(struct import_input *input, struct import_writer *w)
{
	const char *at = (const char *)input->data, *end = at + input->length;
	struct import_line line;
	int err = 0;

	for (; !err && !w->err && import_next_line(&line, at, end); at = line.next)
		if (!line_is_ignored(&line))
			err = read_line(input, w, &line);
	return err;
}
