/* What a recording belongs to. */
#include "decoder/labels.h"

#include <limits.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "decoder/names.h"

#define LABELS_MAX 65536

/* The length of FILE without the member's name that stands in brackets behind a zip's. */
static size_t without_member(const char *file)
{
	size_t length = strlen(file), at = length;
	int depth = 0;

	if (!length || file[length - 1] != ')')
		return length;
	do {
		at--;
		depth += file[at] == ')';
		depth -= file[at] == '(';
	} while (at && depth);
	return at;
}

/* The base name of FILE; returns its length. */
static size_t base_name(const char *file, const char **name)
{
	size_t length = without_member(file);
	const char *slash;

	slash = memrchr(file, '/', length);
	*name = slash ? slash + 1 : file;
	return length - (size_t)(*name - file);
}

static const char *last_underscore(const char *name, size_t length)
{
	return memrchr(name, '_', length);
}

static void add_line(struct buf *out, const char *key, const char *value, int length)
{
	struct buf clean = BUF_INIT(LABELS_MAX);

	if (!buf_printf(&clean, "%s=%.*s", key, length, value)) {
		names_clean(&clean);
		buf_append(&clean, "\n", 1);
		buf_append(out, clean.data, clean.length);
	}
	buf_free(&clean);
}

void labels_of(struct buf *out, const char *file, const char *labels)
{
	const char *name, *time, *pid;
	size_t length = base_name(file, &name);

	buf_reset(out);
	time = last_underscore(name, length);
	pid = time ? last_underscore(name, (size_t)(time - name)) : NULL;
	if (pid && pid + 1 < time && strspn(pid + 1, "0123456789") == (size_t)(time - pid - 1) &&
	    time[1] >= '0' && time[1] <= '9')
		add_line(out, "process", name, (int)(time - name));
	if (labels)
		buf_append_string(out, labels);
	for (size_t i = 0; i < out->length; i++) /* lines stay lines */
		if (out->data[i] < 0x20 && out->data[i] != '\n')
			out->data[i] = '?';
}

static void add_tag(struct buf *out, const cJSON *tag)
{
	if (tag->string && cJSON_IsString(tag))
		add_line(out, tag->string, tag->valuestring, INT_MAX);
}

static void add_text(struct buf *out, const cJSON *agent, const char *name, const char *key)
{
	const cJSON *text = cJSON_GetObjectItemCaseSensitive(agent, name);

	if (cJSON_IsString(text))
		add_line(out, key, text->valuestring, INT_MAX);
}

char *labels_from_metadata(const char *text)
{
	struct buf out = BUF_INIT(LABELS_MAX);
	cJSON *json = cJSON_Parse(text);
	const cJSON *agent = cJSON_GetObjectItemCaseSensitive(json, "agent"), *tag;
	char *labels = NULL;

	cJSON_ArrayForEach(tag, cJSON_GetObjectItemCaseSensitive(agent, "tags")) add_tag(&out, tag);
	add_text(&out, agent, "hostname", "host");
	add_text(&out, agent, "executable", "executable");
	if (out.length && buf_string(&out))
		labels = strdup(buf_string(&out));
	buf_free(&out);
	cJSON_Delete(json);
	return labels;
}
