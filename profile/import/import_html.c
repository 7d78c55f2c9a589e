/* Import of async-profiler's flame graphs: a table of names, and calls that draw the frames. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/basics/array.h"
#include "profile/import/import_formats.h"

#define NAMES_START "const cpool = ["
#define LEVELS_MAX  IMPORT_DEPTH_MAX
#define NAME_MAX    (1u << 16)

/* Returns the position after TEXT in [AT, END), or NULL. */
static const char *find_text(const char *at, const char *end, const char *text)
{
	const char *found = memmem(at, (size_t)(end - at), text, strlen(text));

	return found ? found + strlen(text) : NULL;
}

bool import_html_matches(const uint8_t *data, size_t length)
{
	const char *at = (const char *)data, *end = at + length;

	return *at == '<' && find_text(at, end, NAMES_START) && find_text(at, end, "unpack(cpool)");
}

/* A frame whose children are being read. */
struct level {
	uint32_t frame; /* ID in the writer */
	uint64_t left;  /* width without the children so far */
};

struct html {
	struct import_input *input;
	struct import_writer *w;
	struct intern texts;
	uint32_t *names;  /* IDs in texts */
	uint32_t *frames; /* IDs in the writer, by name and type; 0: not used yet */
	uint32_t name_count, name_capacity;
	struct level *levels;
	size_t depth; /* number of levels; the first is the whole */
	uint64_t level0, width0;
};

static int add_name(struct html *h, const char *text, size_t length)
{
	if (array_reserve(&h->names, &h->name_capacity, h->name_count, sizeof(*h->names)))
		return -ENOMEM;
	h->names[h->name_count] = intern(&h->texts, text, length);
	return h->names[h->name_count++] ? 0 : -ENOMEM;
}

/* Append the characters of a string in quotes to NAME. Returns the position after the closing
 * quote, or NULL. */
static const char *read_string(struct buf *name, const char *at, const char *end)
{
	for (; at < end && *at != '\''; at++) {
		if (*at == '\\' && ++at == end)
			return NULL;
		if (buf_append(name, at, 1))
			return NULL;
	}
	return at < end ? at + 1 : NULL;
}

/* Each name begins with a character that says how much of the name before it is repeated. */
static int read_names(struct html *h, const char **at, const char *end)
{
	struct buf name = BUF_INIT(NAME_MAX), stored = BUF_INIT(NAME_MAX);
	const char *next = *at;
	int err = 0;

	while (!err) {
		size_t same = 0;

		while (next < end && strchr(" \t\r\n,", *next))
			next++;
		if (next == end || *next != '\'')
			break;
		buf_reset(&stored);
		next = read_string(&stored, next + 1, end);
		if (!next) {
			err = import_reject(h->input, *at, "a damaged table of names");
			break;
		}
		if (h->name_count && stored.length)
			same = stored.data[0] >= ' ' ? stored.data[0] - ' ' : 0;
		name.length = same < name.length ? same : name.length;
		if (stored.length > (h->name_count > 0))
			err = buf_append(&name, stored.data + (h->name_count > 0),
					 stored.length - (h->name_count > 0));
		if (!err)
			err = add_name(h, name.data ? (const char *)name.data : "", name.length);
		if (err)
			err = err == -ENOMEM ? err : import_reject(h->input, next, "a long name");
		*at = next;
	}
	*at = next ? next : *at;
	buf_free(&name);
	buf_free(&stored);
	return err;
}

/* Write the samples of the innermost level, and leave it. */
static int pop_level(struct html *h)
{
	struct import_sample sample = { .kind = IMPORT_CPU, .time_ns = h->input->time_ns };

	h->depth--;
	sample.count = h->levels[h->depth].left;
	if (!sample.count || !h->depth)
		return 0;
	import_stack_begin(h->w);
	for (size_t i = h->depth; i; i--) /* without the whole, level 0 */
		import_stack_add_id(h->w, h->levels[i].frame);
	return import_write_sample(h->w, &sample);
}

/* Returns the frame of KEY: index of the name, and type. */
static uint32_t find_frame(struct html *h, uint64_t key)
{
	struct import_frame frame = { .type = (key & 7) <= JFR_FRAME_C1
						      ? (enum jfr_frame_type)(key & 7)
						      : JFR_FRAME_NATIVE };

	if (!h->frames[key]) {
		frame.name.text = intern_text(&h->texts, h->names[key >> 3]);
		frame.name.length = intern_length(&h->texts, h->names[key >> 3]);
		h->frames[key] = import_frame_id(h->w, &frame);
	}
	return h->frames[key];
}

static int push_level(struct html *h, uint64_t key, uint64_t level, uint64_t width)
{
	int err = 0;

	if (level > h->depth || level >= LEVELS_MAX || key >> 3 >= h->name_count)
		return -EBADMSG;
	while (!err && h->depth > level)
		err = pop_level(h);
	if (err)
		return err;
	if (level) {
		struct level *parent = &h->levels[level - 1];

		parent->left -= width < parent->left ? width : parent->left;
	}
	h->levels[level] = (struct level){
		.frame = find_frame(h, key),
		.left = width,
	};
	h->depth = level + 1;
	h->level0 = level;
	h->width0 = width;
	return 0;
}

/* Read the numbers of a call, "1,2)". Returns their number. */
static size_t read_arguments(const char *at, const char *end, uint64_t *numbers, size_t max)
{
	size_t count = 0;

	while (count < max && import_read_number(&at, end, &numbers[count])) {
		count++;
		if (at == end || *at != ',')
			break;
		at++;
	}
	return at < end && (*at == ')' || count == max) ? count : 0;
}

/* Read one call: f(key,level,left,width), u(key,width) one level deeper, or n(key,width) on the same
 * level. A missing width is that of the call before. */
static int read_call(struct html *h, const struct import_line *line)
{
	uint64_t n[4] = { 0 };
	size_t count = line->end - line->text > 3 && line->text[1] == '('
			       ? read_arguments(line->text + 2, line->end, n, 4)
			       : 0;
	uint64_t level = h->level0, width;

	if (!count || (*line->text == 'f' && count < 3))
		return -EBADMSG;
	if (*line->text == 'f') {
		level = n[1];
		width = count > 3 && n[3] ? n[3] : h->width0;
	} else {
		level += *line->text == 'u';
		width = count > 1 && n[1] ? n[1] : h->width0;
	}
	return push_level(h, n[0], level, width);
}

static int read_calls(struct html *h, const char *at, const char *end)
{
	struct import_line line;
	int err = 0;

	for (; !err && !h->w->err && import_next_line(&line, at, end); at = line.next) {
		if (line.text == line.end)
			continue;
		if (!strchr("fun", *line.text) || line.end - line.text < 2 || line.text[1] != '(')
			break;
		err = read_call(h, &line);
		if (err)
			err = import_reject(h->input, line.text, "a damaged frame");
	}
	while (!err && h->depth)
		if (pop_level(h))
			err = import_reject(h->input, at, IMPORT_TOO_LARGE);
	return err;
}

int import_html_read(struct import_input *input, struct import_writer *w)
{
	const char *start = (const char *)input->data, *end = start + input->length;
	const char *at = find_text(start, end, NAMES_START);
	struct html h = { .input = input, .w = w };
	int err;

	h.levels = calloc(LEVELS_MAX, sizeof(*h.levels));
	err = h.levels ? read_names(&h, &at, end) : -ENOMEM;
	if (!err) {
		at = find_text(at, end, "unpack(cpool);");
		h.frames = calloc((size_t)h.name_count + 1, 8 * sizeof(*h.frames));
		err = !at         ? import_reject(input, start, "a page without frames")
		      : !h.frames ? -ENOMEM
				  : read_calls(&h, at, end);
	}
	if (err == -ENOMEM && !w->err)
		w->err = err;
	intern_free(&h.texts);
	free(h.names);
	free(h.frames);
	free(h.levels);
	return err;
}
