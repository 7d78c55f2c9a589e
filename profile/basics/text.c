/* Formatting of numbers, times and names for terminals and for JSON. */
#include "profile/basics/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "core/units.h"

/* VALUE with three significant digits; integers below 1000 without decimals. */
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

/* Later times have a year of five digits and are not real timestamps. */
#define TIME_MAX_MS 253402300799000.0

const char *text_local_time(char out[TEXT_NUMBER], double ms, const char *format)
{
	time_t seconds;
	struct tm tm;

	if (ms >= 0 && ms <= TIME_MAX_MS) {
		seconds = (time_t)(ms / 1000);
		if (localtime_r(&seconds, &tm) && strftime(out, TEXT_NUMBER, format, &tm))
			return out;
	}
	snprintf(out, TEXT_NUMBER, "%.3g", ms);
	return out;
}

bool text_has_suffix(const char *text, const char *suffix)
{
	size_t length = strlen(text), tail = strlen(suffix);

	return length > tail && !strcmp(text + length - tail, suffix);
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *text_find_line(const char *lines, const char *text, bool is_key)
{
	size_t length = strlen(text);

	for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n')
		if (!strncmp(lines, text, length) &&
		    (is_key ? lines[length] == '=' : lines[length] == '\n' || !lines[length]))
			return lines + length + is_key;
	return NULL;
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
	static int width = -1;
	struct winsize size;

	if (width < 0)
		width = isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size)
				? size.ws_col
				: 0;
	return (unsigned)width;
}

size_t text_width(const char *text)
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
	size_t length = text_width(name), head, tail;

	if (width < 8 || length <= width) {
		fputs(name, out);
		return;
	}
	/* The end of a name is more specific than its start. */
	head = (width - 3) / 3;
	tail = width - 3 - head;
	fwrite(name, 1, (size_t)(skip_characters(name, head) - name), out);
	fputs("...", out);
	fputs(skip_characters(name, length - tail), out);
}
