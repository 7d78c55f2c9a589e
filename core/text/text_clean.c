/* Sanitizer for untrusted text that is displayed or logged. */
#include "core/text/text_clean.h"

#include <string.h>

size_t utf8_length(const uint8_t *p, size_t left)
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

uint32_t utf8_point(const uint8_t *p, size_t length)
{
	if (length == 1)
		return *p;
	if (length == 2)
		return (uint32_t)(*p & 0x1f) << 6 | (p[1] & 0x3f);
	return (uint32_t)(*p & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
}

bool utf8_is_control(const uint8_t *p, size_t length)
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

void text_clean_lines(void *text, size_t length)
{
	char *start = text, *end = start + length;

	for (char *p = start; p <= end; p++)
		if (p == end || *p == '\n' || *p == '\t') {
			text_clean(start, (size_t)(p - start));
			start = p + 1;
		}
}
