/* Names of functions, classes and threads, made fit to be shown. */
#include "decoder/names.h"

#include <stdlib.h>
#include <string.h>

#include "decoder/text.h"

void names_clean(struct buf *name)
{
	text_clean(name->data, name->length);
}

uint32_t names_intern(struct intern *intern_, const char *text)
{
	char *copy = strdup(text);
	uint32_t id = 0;

	if (copy) {
		text_clean_string(copy);
		id = intern_string(intern_, copy);
	}
	free(copy);
	return id;
}

static void drop_front(struct buf *name, size_t count)
{
	if (!count)
		return;
	memmove(name->data, name->data + count, name->length - count);
	name->length -= count;
}

void names_short_class(struct buf *name)
{
	/* What follows a slash is no package where it starts with a digit: Lambda$1/0x0800. */
	for (size_t i = name->length < 2 ? 0 : name->length - 1; i-- > 0;)
		if (name->data[i] == '/' && (name->data[i + 1] < '0' || name->data[i + 1] > '9')) {
			drop_front(name, i + 1);
			return;
		}
}

void names_java_class(struct buf *name, bool simple)
{
	static const struct {
		char code;
		const char *name;
	} primitives[] = {
		{ 'B', "byte" }, { 'C', "char" },    { 'S', "short" }, { 'I', "int" },
		{ 'J', "long" }, { 'Z', "boolean" }, { 'F', "float" }, { 'D', "double" },
	};
	size_t depth = 0;

	while (depth < name->length && name->data[depth] == '[')
		depth++;
	drop_front(name, depth);
	if (depth && name->length == 1)
		for (size_t i = 0; i < sizeof(primitives) / sizeof(primitives[0]); i++)
			if (name->data[0] == primitives[i].code) {
				buf_reset(name);
				buf_append_string(name, primitives[i].name);
				break;
			}
	if (depth && name->length > 2 && name->data[0] == 'L') {
		drop_front(name, 1);
		name->length--; /* its semicolon */
	}
	if (simple)
		names_short_class(name);
	for (size_t i = 0; i < name->length; i++)
		if (name->data[i] == '/')
			name->data[i] = '.';
	while (depth--)
		buf_append_string(name, "[]");
}

/* "::h0123456789abcdef", which Rust's older names end in. */
static void drop_hash(struct buf *name)
{
	const uint8_t *tail = name->data + name->length - 19;

	if (name->length > 19 && !memcmp(tail, "::h", 3) &&
	    strspn((const char *)tail + 3, "0123456789abcdef") >= 16)
		name->length -= 19;
}

void names_short_function(struct buf *name)
{
	size_t out = 0, depth = 0;

	if (buf_string(name) == NULL || memchr(name->data, '/', name->length))
		return; /* a path: the module stands for a function without a name */
	drop_hash(name);
	if (name->length && name->data[0] == '<') /* <T as Trait>::method: what is it of? */
		return;
	for (size_t i = 0; i < name->length; i++) {
		uint8_t c = name->data[i];
		bool opens = (c == '<' && i && name->data[i - 1] != '-' &&
			      !(i >= 8 && !memcmp(name->data + i - 8, "operator", 8))) ||
			     (c == '(' && i &&
			      memcmp(name->data + i, "(anonymous",
				     10 < name->length - i ? 10 : name->length - i));

		if (opens)
			depth++;
		if (!depth)
			name->data[out++] = c;
		if (depth && (c == ')' || (c == '>' && name->data[i - 1] != '-')))
			depth--;
	}
	if (out)
		name->length = out;
}
