/* Display names of functions, classes and threads. */
#include "profile/basics/names.h"

#include <stdlib.h>
#include <string.h>

#include "profile/basics/text.h"

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

static void name_remove_prefix(struct buf *name, size_t count)
{
	if (!count)
		return;
	memmove(name->data, name->data + count, name->length - count);
	name->length -= count;
}

void names_drop_package(struct buf *name)
{
	/* A digit after the slash is not a class name but an address: Lambda$1/0x0800. */
	for (size_t i = name->length < 2 ? 0 : name->length - 1; i-- > 0;)
		if (name->data[i] == '/' && (name->data[i + 1] < '0' || name->data[i + 1] > '9')) {
			name_remove_prefix(name, i + 1);
			return;
		}
}

void names_format_java_class(struct buf *name, bool simple)
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
	name_remove_prefix(name, depth);
	if (depth && name->length == 1)
		for (size_t i = 0; i < sizeof(primitives) / sizeof(primitives[0]); i++)
			if (name->data[0] == primitives[i].code) {
				buf_reset(name);
				buf_append_string(name, primitives[i].name);
				break;
			}
	if (depth && name->length > 2 && name->data[0] == 'L') {
		name_remove_prefix(name, 1);
		name->length--; /* the semicolon */
	}
	if (simple)
		names_drop_package(name);
	for (size_t i = 0; i < name->length; i++)
		if (name->data[i] == '/')
			name->data[i] = '.';
	while (depth--)
		buf_append_string(name, "[]");
}

/* Rust's legacy mangling ends in a hash: "::h0123456789abcdef". */
static void name_remove_rust_hash(struct buf *name)
{
	const uint8_t *tail = name->data + name->length - 19;

	if (name->length > 19 && !memcmp(tail, "::h", 3) &&
	    strspn((const char *)tail + 3, "0123456789abcdef") >= 16)
		name->length -= 19;
}

void names_drop_arguments(struct buf *name)
{
	size_t out = 0, depth = 0;

	if (buf_string(name) == NULL || memchr(name->data, '/', name->length))
		return; /* a path: a module name that replaces an unknown function */
	name_remove_rust_hash(name);
	if (name->length && name->data[0] == '<') /* <T as Trait>::method needs its type */
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

/* Returns 1 for an opening bracket at AT, -1 for a closing one, else 0. Brackets in the name of an
 * operator and the '>' of "->" do not count. */
static int bracket_depth_change(const char *name, size_t at)
{
	char c = name[at];

	if (at >= 8 && (c == '<' || c == '>') &&
	    (!memcmp(name + at - 8, "operator", 8) ||
	     (at >= 9 && name[at - 1] == c && !memcmp(name + at - 9, "operator", 8))))
		return 0;
	if (c == '<' || c == '(')
		return 1;
	return c == ')' || (c == '>' && !(at && name[at - 1] == '-')) ? -1 : 0;
}

/* Replace the content of the outermost brackets by "...". A bracket at the start of the name is
 * kept: without it, "<T as Trait>::method" does not say the type. */
static void name_shorten_brackets(struct buf *out, const char *name)
{
	size_t length = strlen(name), begin = 0;
	int depth = 0;

	for (size_t i = 0; i < length; i++) {
		int change = i ? bracket_depth_change(name, i) : 0;

		if (!depth) {
			buf_append(out, name + i, 1);
			depth = change > 0;
			begin = i + 1;
			continue;
		}
		depth += change;
		if (depth)
			continue;
		buf_append(out, i - begin > 3 ? "..." : name + begin,
			   i - begin > 3 ? 3 : i - begin);
		buf_append(out, name + i, 1);
	}
	if (depth)
		buf_append_string(out, name + begin);
}

/* Names up to this width are printed unchanged. */
#define NAME_WIDTH_DEFAULT 100

void names_print(const char *name, unsigned width, bool full)
{
	struct buf folded = BUF_INIT(1u << 20);

	if (!full && strlen(name) > NAME_WIDTH_DEFAULT) {
		name_shorten_brackets(&folded, name);
		name = buf_string(&folded) ? buf_string(&folded) : name;
	}
	text_print_name(stdout, name, full ? 0 : width ? width : NAME_WIDTH_DEFAULT);
	buf_free(&folded);
}
