/* Numbers and names as people and programs read them. */
#include "profile/basics/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

struct unit {
	double size;
	const char *name;
};

static const char *scaled(char out[TEXT_NUMBER], double value, const struct unit *unit)
{
	double shown;

	/* 1023.9 KiB would be shown as 1024 KiB: the next unit starts where rounding reaches it. */
	while (unit->size > 0 && fabs(value) < unit->size * 0.9995)
		unit++;
	shown = unit->size > 0 ? value / unit->size : value;
	snprintf(out, TEXT_NUMBER, "%.*f%s",
		 shown == floor(shown) && fabs(shown) < 1000 ? 0
		 : fabs(shown) < 10                          ? 2
		 : fabs(shown) < 100                         ? 1
							     : 0,
		 shown, unit->name);
	return out;
}

const char *text_bytes(char out[TEXT_NUMBER], double bytes)
{
	static const struct unit units[] = { { 1099511627776.0, " TiB" },
					     { 1073741824.0, " GiB" },
					     { 1048576.0, " MiB" },
					     { 1024.0, " KiB" },
					     { 0, " B" } };

	return scaled(out, bytes, units);
}

const char *text_duration(char out[TEXT_NUMBER], double ns)
{
	static const struct unit units[] = { { 2 * 86400e9, " d" }, { 7200e9, " h" },
					     { 600e9, " min" },     { 1e9, " s" },
					     { 1e6, " ms" },        { 1e3, " us" },
					     { 0, " ns" } };
	static const double sizes[] = { 86400e9, 3600e9, 60e9 };
	char *end;

	for (size_t i = 0; i < 3; i++)
		if (fabs(ns) >= units[i].size) {
			end = out + snprintf(out, TEXT_NUMBER, "%.1f", ns / sizes[i]);
			snprintf(end, TEXT_NUMBER - (size_t)(end - out), "%s", units[i].name);
			return out;
		}
	return scaled(out, ns, units + 3);
}

const char *text_count(char out[TEXT_NUMBER], double count)
{
	static const struct unit units[] = { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 0, "" } };

	if (fabs(count) < 1e6)
		snprintf(out, TEXT_NUMBER, "%.0f", count);
	else
		scaled(out, count, units);
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
static bool is_control(const uint8_t *p, size_t length)
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
		else if (is_control(bytes + i, step))
			memset(bytes + i, '?', step);
		step += !step;
	}
}

void text_clean_string(char *text)
{
	text_clean(text, strlen(text));
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
		else if (is_control(p, length))
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

unsigned text_width(void)
{
	struct winsize size;

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

/* Characters, taken for columns. */
static size_t columns(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += (*text & 0xc0) != 0x80;
	return count;
}

static const char *after(const char *text, size_t count)
{
	while (*text && count) {
		text++;
		while ((*text & 0xc0) == 0x80)
			text++;
		count--;
	}
	return text;
}

void text_name(FILE *out, const char *name, unsigned width)
{
	size_t length = columns(name), head, tail;

	if (width < 8 || length <= width) {
		fputs(name, out);
		return;
	}
	/* The end of a name tells more than its start. */
	head = (width - 3) / 3;
	tail = width - 3 - head;
	fwrite(name, 1, (size_t)(after(name, head) - name), out);
	fputs("...", out);
	fputs(after(name, length - tail), out);
}
