/* Import of `perf script` output: for each sample a line with thread, time and event, lines with
 * its frames, innermost first, and an empty line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/import/import_formats.h"

/* The first line of a sample: "COMM PID/TID [CPU] SECONDS.FRACTION: PERIOD EVENT: FRAME". The process
 * and the processor may be missing, and so may the period and the frame. */
struct perf_head {
	struct import_text comm, event, frame;
	uint32_t tid;
	int64_t time_ns;
	uint64_t period; /* 0: not printed */
};

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

/* Read "123.456789" before END into *NS. Returns false if it is anything else. */
static bool read_time(const char *at, const char *end, int64_t *ns)
{
	uint64_t seconds, fraction;
	const char *start;

	if (!import_read_number(&at, end, &seconds) || at == end || *at != '.' ||
	    seconds > 4000000000u)
		return false;
	start = ++at;
	if (!import_read_number(&at, end, &fraction) || at != end || end - start > 9)
		return false;
	for (ptrdiff_t digits = end - start; digits < 9; digits++)
		fraction *= 10;
	*ns = (int64_t)(seconds * 1000000000u + fraction);
	return true;
}

/* Returns the start of the word that ends before END, after blanks. */
static const char *last_word(const char *start, const char **end)
{
	const char *at = *end;

	while (at > start && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	*end = at;
	while (at > start && at[-1] != ' ' && at[-1] != '\t')
		at--;
	return at;
}

/* Read what is before the time: "COMM PID/TID [CPU]". */
static bool read_thread(struct perf_head *head, const char *start, const char *end)
{
	const char *word = last_word(start, &end), *slash, *at;
	uint64_t tid;

	if (word < end && *word == '[') {
		end = word;
		word = last_word(start, &end);
	}
	slash = memchr(word, '/', (size_t)(end - word));
	at = slash ? slash + 1 : word;
	if (!import_read_number(&at, end, &tid) || at != end || tid > INT32_MAX)
		return false;
	head->tid = (uint32_t)tid;
	end = word;
	while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	head->comm = (struct import_text){ start, (size_t)(end - start) };
	return end > start;
}

/* Read what is after the time: "PERIOD EVENT: FRAME". */
static bool read_event(struct perf_head *head, const char *at, const char *end)
{
	const char *word, *colon;
	uint64_t period;

	at = skip_blanks(at, end);
	word = at;
	if (import_read_number(&word, end, &period) && word < end && *word == ' ') {
		head->period = period;
		at = skip_blanks(word, end);
	}
	for (word = at; word < end && *word != ' ' && *word != '\t'; word++)
		;
	colon = word;
	if (colon == at || colon[-1] != ':')
		return false;
	head->event = (struct import_text){ at, (size_t)(colon - 1 - at) };
	at = skip_blanks(word, end);
	head->frame = (struct import_text){ at, (size_t)(end - at) };
	return true;
}

static bool read_head(struct perf_head *head, const struct import_line *line)
{
	const char *start = skip_blanks(line->text, line->end), *at = start, *word = start, *colon;

	*head = (struct perf_head){ 0 };
	/* The command may have blanks and colons: search the first word that begins with a time and a
	 * colon. */
	for (; at < line->end; word = at = skip_blanks(at, line->end)) {
		while (at < line->end && *at != ' ' && *at != '\t')
			at++;
		colon = memchr(word, ':', (size_t)(at - word));
		if (colon && read_time(word, colon, &head->time_ns))
			return read_thread(head, start, word) &&
			       read_event(head, colon + 1, line->end);
	}
	return false;
}

bool import_perf_matches(const uint8_t *data, size_t length)
{
	const char *at = (const char *)data, *end = at + length;
	struct import_line line;
	struct perf_head head;

	for (; import_next_line(&line, at, end); at = line.next)
		if (line.text < line.end && *line.text != '#')
			return read_head(&head, &line);
	return false;
}

/* Cut "+0x1a" off the end of a symbol. */
static size_t symbol_length(const char *symbol, size_t length)
{
	size_t at = length;

	while (at && ((symbol[at - 1] >= '0' && symbol[at - 1] <= '9') ||
		      (symbol[at - 1] >= 'a' && symbol[at - 1] <= 'f')))
		at--;
	return at > 3 && at < length && !memcmp(symbol + at - 3, "+0x", 3) ? at - 3 : length;
}

static bool is_kernel(const struct import_text *library, uint64_t address)
{
	return address >> 63 || (library->length && *library->text == '[' &&
				 memmem(library->text, library->length, "kernel", 6));
}

/* Returns the parenthesis that the one at the end of [AT, END) closes, or NULL. Names of deleted
 * files contain others. */
static const char *library_start(const char *at, const char *end)
{
	unsigned depth = 0;

	if (end == at || end[-1] != ')')
		return NULL;
	while (end-- > at) {
		depth += *end == ')';
		if (*end == '(' && !--depth)
			return end;
	}
	return NULL;
}

/* Read "ADDRESS SYMBOL+0xOFFSET (LIBRARY)". Returns false if it is anything else. */
static bool read_frame(struct import_frame *frame, const char *at, const char *end)
{
	char *address_end, text[20] = "";
	const char *open;
	uint64_t address;
	size_t digits = 0;

	*frame = (struct import_frame){ .type = JFR_FRAME_NATIVE };
	at = skip_blanks(at, end);
	while (digits < sizeof(text) - 1 && at + digits < end && at[digits] != ' ') {
		text[digits] = at[digits];
		digits++;
	}
	address = strtoull(text, &address_end, 16);
	if (!digits || *address_end || at + digits == end)
		return false;
	at = skip_blanks(at + digits, end);
	while (end > at && end[-1] == ' ')
		end--;
	open = library_start(at, end);
	if (open) {
		frame->module = import_file_name(
			(struct import_text){ open + 1, (size_t)(end - open - 2) });
		end = open;
	}
	while (end > at && end[-1] == ' ')
		end--;
	frame->name = (struct import_text){ at, symbol_length(at, (size_t)(end - at)) };
	if (is_kernel(&frame->module, address))
		frame->type = JFR_FRAME_KERNEL;
	return true;
}

/* Lines of frames begin with a tab; names of commands may be aligned with blanks. */
static bool line_is_frame(const struct import_line *line)
{
	struct perf_head head;

	return *line->text == '\t' || (*line->text == ' ' && !read_head(&head, line));
}

/* Add the frames after HEAD's line. Returns the position after the sample. */
static const char *read_frames(struct import_writer *w, const struct perf_head *head,
			       const char *at, const char *end)
{
	struct import_frame frame;
	struct import_line line;

	import_stack_begin(w);
	if (head->frame.length &&
	    read_frame(&frame, head->frame.text, head->frame.text + head->frame.length))
		import_stack_add(w, &frame);
	for (; import_next_line(&line, at, end); at = line.next) {
		if (line.text == line.end)
			return line.next;
		if (!line_is_frame(&line) || !read_frame(&frame, line.text, line.end))
			return at;
		import_stack_add(w, &frame);
	}
	return end;
}

/* Sampling interval: events of the kernel's clocks have a period in ns. Returns 0 for other events. */
static uint64_t clock_period(const struct perf_head *head)
{
	static const char *const clocks[] = { "cpu-clock", "task-clock" };

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (head->event.length >= strlen(clocks[i]) && head->period < INT64_MAX &&
		    !memcmp(head->event.text, clocks[i], strlen(clocks[i])))
			return head->period;
	return 0;
}

int import_perf_read(struct import_input *input, struct import_writer *w)
{
	const char *at = (const char *)input->data, *end = at + input->length;
	struct import_text event = { 0 };
	struct import_line line;
	struct perf_head head;

	while (!w->err && import_next_line(&line, at, end)) {
		struct import_sample sample = { .kind = IMPORT_CPU, .count = 1 };

		at = line.next;
		if (line.text == line.end || *line.text == '#')
			continue;
		if (!read_head(&head, &line))
			return import_reject(input, line.text, "no sample of perf script");
		at = read_frames(w, &head, at, end);
		/* Samples of different events cannot be added up: the first event counts. */
		if (!event.length) {
			event = head.event;
			import_writer_set_intervals(w, clock_period(&head), 0);
		}
		if (head.event.length != event.length ||
		    memcmp(head.event.text, event.text, event.length))
			continue;
		sample.time_ns = head.time_ns;
		sample.tid = head.tid;
		sample.thread = head.comm;
		if (import_write_sample(w, &sample))
			return import_reject(input, line.text, IMPORT_TOO_LARGE);
	}
	return 0;
}
