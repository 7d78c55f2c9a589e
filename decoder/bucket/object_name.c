/* Parser of the names of uploaded reports. It works backwards, as a group may contain any character. */
#include "decoder/bucket/object_name.h"

#include <ctype.h>
#include <string.h>

#include "core/date.h"
#include "upload/files/name.h"

#define START "profile_"
#define END   ".zip"

/* Last year whose nanoseconds since 1970 fit 64 bits. */
#define YEAR_MAX 2261

/* Remove a suffix that matches PATTERN from TEXT. Returns false if there is none. */
static bool strip_suffix(const char *text, size_t *length, const char *pattern,
			 unsigned int *numbers)
{
	size_t end = strlen(pattern);

	if (*length < end || !name_matches(text + *length - end, pattern, numbers))
		return false;
	*length -= end;
	return true;
}

static bool strip_pid(const char *text, size_t *length)
{
	size_t digits = 0;

	while (digits < *length && isdigit((unsigned char)text[*length - 1 - digits]))
		digits++;
	if (!digits || digits == *length || text[*length - 1 - digits] != '_')
		return false;
	*length -= digits + 1;
	return true;
}

/* Shorten TEXT to the part before its last "_". Returns false if there is none. */
static bool strip_part(const char *text, size_t *length)
{
	const char *at = memrchr(text, '_', *length);

	*length = at ? (size_t)(at - text) : 0;
	return at;
}

static bool text_is_machine_kind(const char *text, size_t length)
{
	return (length == 3 && (!memcmp(text, "ec2", 3) || !memcmp(text, "ecs", 3))) ||
	       (length == 7 && !memcmp(text, "unknown", 7));
}

/* Returns the start of the name after the upload prefix, which may end without "/". A group may contain "/". */
static const char *name_find_start(const char *key)
{
	const char *slash = strrchr(key, '/'), *start = strstr(slash ? slash : key, START);

	return start ? start : strstr(key, START);
}

bool object_name_parse(struct object_name *out, const char *key)
{
	const char *name = name_find_start(key);
	size_t length = name ? strlen(name) : 0, end;
	unsigned int n[6];

	if (!name || !strip_suffix(name, &length, END, NULL))
		return false;
	strip_suffix(name, &length, "-xxxxxxxx", NULL);
	if (!strip_suffix(name, &length, "_dddd-dd-ddTdd-dd-ddZ", n) || n[0] < 1970 ||
	    n[0] > YEAR_MAX || n[1] < 1 || n[1] > 12 || n[2] < 1)
		return false;
	out->seconds = date_seconds(n);
	out->process = key;
	out->process_length = (size_t)(name - key) + length;
	/* "profile_{group}_{kind}_{id}_" remains. */
	if (!strip_pid(name, &length) || !length || name[--length] != '_')
		return false;
	end = length;
	if (!strip_part(name, &length))
		return false;
	out->machine = name + length + 1;
	out->machine_length = end - length - 1;
	end = length;
	if (!strip_part(name, &length) ||
	    !text_is_machine_kind(name + length + 1, end - length - 1) || length < strlen(START))
		return false;
	out->group = name + strlen(START);
	out->group_length = length - strlen(START);
	return true;
}

static bool pattern_matches_part(const struct pattern *pattern, const char *text, size_t length)
{
	char part[1025]; /* a key has at most 1024 bytes */

	if (!pattern->set)
		return true;
	if (length >= sizeof(part))
		return false;
	memcpy(part, text, length);
	part[length] = '\0';
	return !regexec(&pattern->regex, part, 0, NULL, 0);
}

bool object_name_matches(const char *key, const struct upload_filter *filter)
{
	struct object_name name;

	if (!filter->group.set && !filter->machine.set)
		return true;
	return object_name_parse(&name, key) &&
	       pattern_matches_part(&filter->group, name.group, name.group_length) &&
	       pattern_matches_part(&filter->machine, name.machine, name.machine_length);
}
