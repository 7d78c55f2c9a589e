/* Numbers and names as people and programs read them. */
#include "profile/basics/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "core/units.h"

/* With three digits, or as many as there are. */
static const char *format_rounded(char out[TEXT_NUMBER], double value, const char *unit)
{
	snprintf(out, TEXT_NUMBER, "%.*f%s",
		 value == floor(value) && fabs(value) < 1000 ? 0
		 : fabs(value) < 10                          ? 2
		 : fabs(value) < 100                         ? 1
							     : 0,
		 value, unit);
	return out;
}

const char *text_bytes(char out[TEXT_NUMBER], double bytes)
{
	const struct unit *unit = unit_to_show(size_units, fabs(bytes));
	char name[8];

	snprintf(name, sizeof(name), " %s", unit->shown);
	return format_rounded(out, bytes / (double)unit->size, name);
}

const char *text_duration(char out[TEXT_NUMBER], double ns)
{
	const struct unit *unit = unit_to_show(duration_units, fabs(ns));
	char name[8];

	snprintf(name, sizeof(name), " %s", unit->shown);
	if (unit->size <= SECONDS(1))
		return format_rounded(out, ns / (double)unit->size, name);
	snprintf(out, TEXT_NUMBER, "%.1f%s", ns / (double)unit->size, name);
	return out;
}

const char *text_count(char out[TEXT_NUMBER], double count)
{
	double reached = fabs(count) / 0.9995;

	if (fabs(count) < 1e6)
		snprintf(out, TEXT_NUMBER, "%.0f", count);
	else if (reached < 1e9)
		format_rounded(out, count / 1e6, "M");
	else if (reached < 1e12)
		format_rounded(out, count / 1e9, "G");
	else
		format_rounded(out, count / 1e12, "T");
	return out;
}

const char *text_amount(char out[TEXT_NUMBER], double amount, const char *unit)
{
	if (!strcmp(unit, "bytes"))
		return text_bytes(out, amount);
	if (!strcmp(unit, "nanoseconds"))
		return text_duration(out, amount);
	return text_count(out, amount);
}

const char *text_time(char out[TEXT_NUMBER], int64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(out, TEXT_NUMBER, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(out, TEXT_NUMBER, "%" PRId64, (int64_t)seconds);
	return out;
}

/* Bytes of the UTF-8 character at P, 0 for what is none. */
static size_t utf8_length(const uint8_t *p, size_t left)
{
	size_t length = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;

	if (*p > 0xf4 || length > left)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	return length;
}

/* The character of LENGTH bytes at P, where it has up to three. */
static uint32_t utf8_point(const uint8_t *p, size_t length)
{
	if (length == 1)
		return *p;
	if (length == 2)
		return (uint32_t)(*p & 0x1f) << 6 | (p[1] & 0x3f);
	return (uint32_t)(*p & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
}

/* Obeyed, not shown: controls, line and paragraph separators, and marks of direction (Unicode's
 * Bidi_Control). */
static bool utf8_is_control(const uint8_t *p, size_t length)
{
	uint32_t c = utf8_point(p, length);

	if (length > 3)
		return false;
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void text_clean(void *text, size_t length)
{
	uint8_t *bytes = text;
	size_t step;

	for (size_t i = 0; i < length; i += step) {
		step = utf8_length(bytes + i, length - i);
		if (!step)
			bytes[i] = '?';
		else if (utf8_is_control(bytes + i, step))
			memset(bytes + i, '?', step);
		step += !step;
	}
}

void text_clean_string(char *text)
{
	text_clean(text, strlen(text));
}

bool text_has_suffix(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length > tail && !strcmp(text + length - tail, end);
}

void json_string(FILE *out, const char *string)
{
	const uint8_t *p = (const uint8_t *)string, *end = p + strlen(string);
	size_t length;

	fputc('"', out);
	for (; p < end; p += length + !length) {
		length = utf8_length(p, (size_t)(end - p));
		if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if (!length)
			fputs("\\ufffd", out);
		else if (utf8_is_control(p, length))
			fprintf(out, "\\u%04x", utf8_point(p, length));
		else
			fwrite(p, 1, length, out);
	}
	fputc('"', out);
}

void json_number(FILE *out, double number)
{
	if (!isfinite(number))
		fputc('0', out);
	else if (number == floor(number))
		fprintf(out, "%.0f", number);
	else
		fprintf(out, "%.6f", number);
}

unsigned text_terminal_width(void)
{
	struct winsize size;

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

/* Characters, taken for columns. */
static size_t count_characters(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += (*text & 0xc0) != 0x80;
	return count;
}

static const char *skip_characters(const char *text, size_t count)
{
	while (*text && count) {
		text++;
		while ((*text & 0xc0) == 0x80)
			text++;
		count--;
	}
	return text;
}

void text_print_name(FILE *out, const char *name, unsigned width)
{
	size_t length = count_characters(name), head, tail;

	if (width < 8 || length <= width) {
		fputs(name, out);
		return;
	}
	/* The end of a name tells more than its start. */
	head = (width - 3) / 3;
	tail = width - 3 - head;
	fwrite(name, 1, (size_t)(skip_characters(name, head) - name), out);
	fputs("...", out);
	fputs(skip_characters(name, length - tail), out);
}
