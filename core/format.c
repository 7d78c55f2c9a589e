/* snprintf(3) without stdio and locale. */
#include "core/format.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define DIGITS_MAX 20 /* decimal digits of 64 bits */

struct out {
	char *at, *end; /* last position for the NUL */
};

/* One conversion specification. */
struct spec {
	bool zero_padded, is_long;
	unsigned width;
	size_t precision;
};

static void out_append(struct out *out, const char *text, size_t length)
{
	size_t room = (size_t)(out->end - out->at);

	if (length > room)
		length = room;
	memcpy(out->at, text, length);
	out->at += length;
}

static void out_append_string(struct out *out, const char *text, const struct spec *spec)
{
	if (!text)
		text = "(null)";
	out_append(out, text, strnlen(text, spec->precision));
}

static void out_append_number(struct out *out, uint64_t value, unsigned base, bool negative,
			      const struct spec *spec)
{
	char digits[DIGITS_MAX], *first = digits + sizeof(digits);
	unsigned length;

	do
		*--first = "0123456789abcdef"[value % base];
	while (value /= base);
	length = (unsigned)(digits + sizeof(digits) - first) + negative;
	if (negative && spec->zero_padded)
		out_append(out, "-", 1);
	for (; length < spec->width; length++)
		out_append(out, spec->zero_padded ? "0" : " ", 1);
	if (negative && !spec->zero_padded)
		out_append(out, "-", 1);
	out_append(out, first, (size_t)(digits + sizeof(digits) - first));
}

static void out_append_signed(struct out *out, int64_t value, const struct spec *spec)
{
	out_append_number(out, value < 0 ? -(uint64_t)value : (uint64_t)value, 10, value < 0, spec);
}

static unsigned spec_read_digits(const char **at)
{
	unsigned number = 0;

	for (; **at >= '0' && **at <= '9' && number < 1000; ++*at)
		number = number * 10 + (unsigned)(**at - '0');
	return number;
}

/* A va_list in a struct, so that a pointer to it can be passed. */
struct arguments {
	va_list list;
};

static size_t spec_read_precision(const char **at, struct arguments *arguments)
{
	int precision;

	if (**at != '.')
		return SIZE_MAX;
	++*at;
	if (**at != '*')
		return spec_read_digits(at);
	++*at;
	precision = va_arg(arguments->list, int);
	return precision < 0 ? SIZE_MAX : (size_t)precision;
}

/* Parse the part between the % and the letter. All 64-bit types are treated alike. */
static struct spec spec_read(const char **at, struct arguments *arguments)
{
	struct spec spec = { .zero_padded = **at == '0' };

	_Static_assert(sizeof(long) == 8 && sizeof(size_t) == 8 && sizeof(intmax_t) == 8, "one");
	spec.width = spec_read_digits(at);
	spec.precision = spec_read_precision(at, arguments);
	for (; **at == 'l' || **at == 'z' || **at == 'j'; ++*at)
		spec.is_long = true;
	return spec;
}

static void out_append_conversion(struct out *out, char letter, const struct spec *spec,
				  struct arguments *arguments)
{
	char c;

	switch (letter) {
	case 's':
		out_append_string(out, va_arg(arguments->list, const char *), spec);
		break;
	case 'c':
		c = (char)va_arg(arguments->list, int);
		out_append(out, &c, 1);
		break;
	case 'd':
	case 'i':
		out_append_signed(out,
				  spec->is_long ? va_arg(arguments->list, long)
						: va_arg(arguments->list, int),
				  spec);
		break;
	case 'u':
	case 'x':
		out_append_number(out,
				  spec->is_long ? va_arg(arguments->list, unsigned long)
						: va_arg(arguments->list, unsigned int),
				  letter == 'x' ? 16 : 10, false, spec);
		break;
	case 'p':
		out_append(out, "0x", 2);
		out_append_number(out, (uintptr_t)va_arg(arguments->list, void *), 16, false, spec);
		break;
	default:
		out_append(out, &letter, 1);
	}
}

size_t format_list(char *text, size_t size, const char *format, va_list list)
{
	struct out out = { .at = text, .end = text + size - 1 };
	struct arguments arguments;
	struct spec spec;
	const char *next;

	va_copy(arguments.list, list);
	for (; *format; format++) {
		next = strchrnul(format, '%');
		out_append(&out, format, (size_t)(next - format));
		if (!*next)
			break;
		format = next + 1;
		spec = spec_read(&format, &arguments);
		if (!*format)
			break;
		out_append_conversion(&out, *format, &spec, &arguments);
	}
	va_end(arguments.list);
	*out.at = '\0';
	return (size_t)(out.at - text);
}

size_t format_text(char *text, size_t size, const char *format, ...)
{
	va_list list;
	size_t length;

	va_start(list, format);
	length = format_list(text, size, format, list);
	va_end(list);
	return length;
}
