/* Parser of the AWS tools' config and credentials files. */
#include "upload/aws/ini.h"

#include <stdbool.h>
#include <string.h>

#include "core/secret.h"

struct piece {
	const char *start;
	size_t length;
};

static bool ini_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static struct piece ini_trim(struct piece piece)
{
	while (piece.length && ini_is_blank(piece.start[0])) {
		piece.start++;
		piece.length--;
	}
	while (piece.length && ini_is_blank(piece.start[piece.length - 1]))
		piece.length--;
	return piece;
}

static bool ini_equals(struct piece piece, const char *text)
{
	return piece.length == strlen(text) && !memcmp(piece.start, text, piece.length);
}

static bool ini_next_line(struct piece *rest, struct piece *line)
{
	const char *end;

	if (!rest->length)
		return false;
	end = memchr(rest->start, '\n', rest->length);
	line->start = rest->start;
	line->length = end ? (size_t)(end - rest->start) : rest->length;
	rest->start += line->length + (end ? 1 : 0);
	rest->length -= line->length + (end ? 1 : 0);
	return true;
}

/* "[profile  name]" matches "profile name"; quotes around the name are dropped. */
static bool ini_is_section(struct piece line, const char *section)
{
	const char *end = memchr(line.start, ']', line.length);
	struct piece name, word;
	const char *space;

	if (!end)
		return false;
	name = ini_trim((struct piece){ line.start + 1, (size_t)(end - line.start - 1) });
	space = strchr(section, ' ');
	if (space) {
		word = (struct piece){ section, (size_t)(space - section) };
		if (name.length <= word.length ||
		    memcmp(name.start, word.start, word.length) != 0 ||
		    !ini_is_blank(name.start[word.length]))
			return false;
		name.start += word.length;
		name.length -= word.length;
		name = ini_trim(name);
		section = space + 1;
	}
	if (name.length >= 2 && (name.start[0] == '"' || name.start[0] == '\'') &&
	    name.start[name.length - 1] == name.start[0]) {
		name.start++;
		name.length -= 2;
	}
	return ini_equals(name, section);
}

/* A comment after a value needs a blank in front: '#' occurs in many secrets. */
static struct piece ini_drop_comment(struct piece value)
{
	for (size_t i = 1; i < value.length; i++)
		if ((value.start[i] == '#' || value.start[i] == ';') &&
		    ini_is_blank(value.start[i - 1]))
			value.length = i;
	return ini_trim(value);
}

static bool ini_split(struct piece line, struct piece *key, struct piece *value)
{
	const char *equals = memchr(line.start, '=', line.length);

	if (!equals)
		return false;
	*key = ini_trim((struct piece){ line.start, (size_t)(equals - line.start) });
	*value = ini_drop_comment(ini_trim(
		(struct piece){ equals + 1, line.length - (size_t)(equals - line.start) - 1 }));
	return key->length > 0;
}

static bool ini_is_key(struct piece parent, struct piece key, const char *wanted)
{
	if (!parent.length)
		return ini_equals(key, wanted);
	return strlen(wanted) == parent.length + 1 + key.length &&
	       !memcmp(wanted, parent.start, parent.length) && wanted[parent.length] == '.' &&
	       !memcmp(wanted + parent.length + 1, key.start, key.length);
}

char *ini_get(const char *text, size_t length, const char *section, const char *wanted)
{
	struct piece rest = { text, length }, line, key, value, parent = { 0 };
	bool inside = false, nested;
	char *found = NULL;

	while (ini_next_line(&rest, &line)) {
		nested = line.length && ini_is_blank(line.start[0]);
		line = ini_trim(line);
		if (!line.length || line.start[0] == '#' || line.start[0] == ';')
			continue;
		if (line.start[0] == '[') {
			inside = ini_is_section(line, section);
			parent.length = 0;
			continue;
		}
		if (!inside || !ini_split(line, &key, &value))
			continue;
		if (!nested)
			parent.length = 0;
		if (ini_is_key(parent, key, wanted)) {
			secret_free(found);
			found = value.length ? strndup(value.start, value.length) : NULL;
		}
		if (!nested && !value.length)
			parent = key;
	}
	return found;
}
