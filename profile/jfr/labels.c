/* Labels of a recording. */
#include "profile/jfr/labels.h"

#include <limits.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "profile/basics/names.h"
#include "profile/jfr/jfr_meta.h"
#include "profile/jfr/settings.h"

#define LABELS_MAX 65536

size_t labels_file_path_length(const char *file)
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

/* Set *NAME to the base name of FILE. Returns its length. */
static size_t file_base_name(const char *file, const char **name)
{
	size_t length = labels_file_path_length(file);
	const char *slash;

	slash = memrchr(file, '/', length);
	*name = slash ? slash + 1 : file;
	return length - (size_t)(*name - file);
}

static const char *last_underscore(const char *name, size_t length)
{
	return memrchr(name, '_', length);
}

static void labels_append_line(struct buf *out, const char *key, const char *value, int length)
{
	struct buf clean = BUF_INIT(LABELS_MAX);

	if (!buf_printf(&clean, "%s=%.*s", key, length, value)) {
		names_clean(&clean);
		buf_append(&clean, "\n", 1);
		buf_append(out, clean.data, clean.length);
	}
	buf_free(&clean);
}

void labels_write(struct buf *out, const char *file, const char *labels)
{
	const char *name, *time, *pid;
	size_t length = file_base_name(file, &name);

	buf_reset(out);
	time = last_underscore(name, length);
	pid = time ? last_underscore(name, (size_t)(time - name)) : NULL;
	if (pid && pid + 1 < time && strspn(pid + 1, "0123456789") == (size_t)(time - pid - 1) &&
	    time[1] >= '0' && time[1] <= '9')
		labels_append_line(out, "process", name, (int)(time - name));
	if (labels)
		buf_append_string(out, labels);
	for (size_t i = 0; i < out->length; i++) /* keep only newlines, which separate labels */
		if (out->data[i] < 0x20 && out->data[i] != '\n')
			out->data[i] = '?';
}

static void labels_append_tag(struct buf *out, const cJSON *tag)
{
	if (tag->string && cJSON_IsString(tag))
		labels_append_line(out, tag->string, tag->valuestring, INT_MAX);
}

static void labels_append_text(struct buf *out, const cJSON *agent, const char *name,
			       const char *key)
{
	const cJSON *text = cJSON_GetObjectItemCaseSensitive(agent, name);

	if (cJSON_IsString(text))
		labels_append_line(out, key, text->valuestring, INT_MAX);
}

static void labels_append_number(struct buf *out, const cJSON *agent, const char *name)
{
	const cJSON *number = cJSON_GetObjectItemCaseSensitive(agent, name);

	if (cJSON_IsNumber(number) && number->valuedouble >= 1 && number->valuedouble < 1e15)
		buf_printf(out, "%s=%.0f\n", name, number->valuedouble);
}

char *labels_from_metadata(const char *text)
{
	struct buf out = BUF_INIT(LABELS_MAX);
	cJSON *json = cJSON_Parse(text);
	const cJSON *agent = cJSON_GetObjectItemCaseSensitive(json, "agent"), *tag;
	const cJSON *tags = cJSON_GetObjectItemCaseSensitive(agent, "tags");
	char *labels = NULL;

	cJSON_ArrayForEach(tag, tags) labels_append_tag(&out, tag);
	labels_append_text(&out, agent, "hostname", "host");
	labels_append_text(&out, agent, "executable", "executable");
	labels_append_number(&out, agent, "profiled_since");
	/* A tag named "version" has priority, as in label_chunk_write(). */
	if (!cJSON_GetObjectItemCaseSensitive(tags, "version"))
		labels_append_text(&out, agent, "service_version", "version");
	if (out.length && buf_string(&out))
		labels = strdup(buf_string(&out));
	buf_free(&out);
	cJSON_Delete(json);
	return labels;
}

/* Settings that are labels (engine/collect/label_chunk.h), and their keys in label lines. */
static const struct {
	const char *prefix, *key; /* key NULL: the text after the prefix */
} label_settings[] = {
	{ "agent.host", "host" },
	{ "agent.executable", "executable" },
	{ "agent.profiled_since", "profiled_since" },
	{ "agent.service_version", "version" },
	{ "agent.tag.", NULL },
};

static const char *label_key(const char *name)
{
	for (size_t i = 0; name && i < sizeof(label_settings) / sizeof(label_settings[0]); i++) {
		size_t length = strlen(label_settings[i].prefix);

		if (label_settings[i].key
			    ? !strcmp(name, label_settings[i].prefix)
			    : !strncmp(name, label_settings[i].prefix, length) && name[length])
			return label_settings[i].key ? label_settings[i].key : name + length;
	}
	return NULL;
}

static bool labels_have_line(const struct buf *out, const struct buf *line)
{
	size_t at = 0;

	while (at < out->length) {
		const uint8_t *start = out->data + at;
		const uint8_t *end = memchr(start, '\n', out->length - at);
		size_t length = end ? (size_t)(end - start) + 1 : out->length - at;

		if (length == line->length && !memcmp(start, line->data, length))
			return true;
		at += length;
	}
	return false;
}

static void labels_append_setting(struct buf *out, const struct jfr_chunk *chunk,
				  const struct jfr_event *event)
{
	struct buf name = BUF_INIT(LABELS_MAX), value = BUF_INIT(LABELS_MAX);
	struct buf line = BUF_INIT(2 * LABELS_MAX);
	const char *key;

	if (settings_append_pair(chunk, event, &name, &value)) {
		key = label_key(buf_string(&name));
		if (key)
			labels_append_line(&line, key, buf_string(&value), INT_MAX);
		if (line.length && !labels_have_line(out, &line))
			buf_append(out, line.data, line.length);
	}
	buf_free(&name);
	buf_free(&value);
	buf_free(&line);
}

static void labels_append_chunk(struct buf *out, const uint8_t *data,
				const struct jfr_header *header)
{
	struct jfr_chunk chunk = { .header = *header, .data = data + header->offset };
	struct jfr_event event;
	struct jfr_scan scan;

	if (!jfr_meta_read(&chunk)) {
		jfr_scan_start(&scan, &chunk, JFR_MASK(JFR_SETTING));
		while (jfr_scan_next(&scan, &event))
			labels_append_setting(out, &chunk, &event);
	}
	jfr_meta_free(&chunk);
}

char *labels_from_recording(const uint8_t *data, uint64_t length)
{
	struct buf out = BUF_INIT(LABELS_MAX);
	struct jfr_header header;
	struct jfr_error error;
	char *labels = NULL;

	/* Only label chunks have labels. */
	for (uint64_t offset = 0; !jfr_header_read(&header, data, length, offset, &error);
	     offset += header.size)
		if (settings_may_be_label_chunk(&header))
			labels_append_chunk(&out, data, &header);
	if (out.length && buf_string(&out))
		labels = strdup(buf_string(&out));
	buf_free(&out);
	return labels;
}
