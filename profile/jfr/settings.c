/* What a recording says of how it was made: its jdk.ActiveSetting events. */
#include "profile/jfr/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/basics/text.h"
#include "profile/jfr/jfr_meta.h"

static const struct {
	const char *name;
	size_t offset;
	bool text; /* else a number */
} rows[] = {
	{ "interval", offsetof(struct settings, cpu_interval_ns), false },
	{ "wall", offsetof(struct settings, wall_interval_ns), false },
	{ "nativemem", offsetof(struct settings, mem_interval), false },
	{ "clock", offsetof(struct settings, clock), true },
	{ "engine", offsetof(struct settings, engine), true },
	{ "version", offsetof(struct settings, version), true },
};

/* A JDK's settings are each of an event type: how often it samples stands in its "20 ms". */
static bool read_period(struct settings *settings, const struct jfr_chunk *chunk,
			const struct jfr_event *event, const char *name, const char *value)
{
	const struct jfr_type *type;
	struct jfr_value id;
	char *end;
	double ms;

	if (strcmp(name, "period") || !jfr_event_get(chunk, event, "id", &id))
		return false;
	type = jfr_type_by_id(chunk, (uint64_t)jfr_long(&id));
	ms = strtod(value, &end);
	if (type && !strcmp(type->name, "jdk.ExecutionSample") && end != value &&
	    !strcmp(end, " ms") && ms > 0 && ms < 1e9)
		settings->cpu_interval_ns = (int64_t)(ms * 1e6);
	return true;
}

bool settings_pair(const struct jfr_chunk *chunk, const struct jfr_event *event, struct buf *name,
		   struct buf *text)
{
	struct jfr_value value;

	return jfr_event_get(chunk, event, "name", &value) && jfr_string(chunk, &value, name) &&
	       jfr_event_get(chunk, event, "value", &value) && jfr_string(chunk, &value, text);
}

void settings_read(struct settings *settings, const struct jfr_chunk *chunk,
		   const struct jfr_event *event)
{
	struct buf name = BUF_INIT(256), text = BUF_INIT(4096);
	const char *key, *setting;

	if (!settings_pair(chunk, event, &name, &text))
		goto out;
	key = buf_string(&name);
	setting = buf_string(&text);
	if (!key || !setting || read_period(settings, chunk, event, key, setting))
		goto out;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *field = (char *)settings + rows[i].offset;

		if (strcmp(key, rows[i].name))
			continue;
		if (rows[i].text) {
			snprintf(field, SETTING_TEXT, "%s", setting);
			text_clean_string(field);
		} else {
			*(int64_t *)(void *)field = strtoll(setting, NULL, 10);
		}
	}
out:
	buf_free(&name);
	buf_free(&text);
}

/* The settings stand among the first events of a recording. */
#define SETTINGS_WITHIN 1000

/* More than a chunk of labels takes. */
#define LABEL_CHUNK_MAX (1u << 20)

bool settings_may_label(const struct jfr_header *header)
{
	return !header->duration_ns && header->size <= LABEL_CHUNK_MAX;
}

static bool is_label(const struct jfr_chunk *chunk, const struct jfr_event *event)
{
	static const char prefix[] = "agent.";
	struct buf name = BUF_INIT(256), text = BUF_INIT(65536);
	bool is = settings_pair(chunk, event, &name, &text) && name.length >= strlen(prefix) &&
		  !memcmp(name.data, prefix, strlen(prefix));

	buf_free(&name);
	buf_free(&text);
	return is;
}

bool settings_of(struct settings *settings, const uint8_t *data, uint64_t length)
{
	struct jfr_chunk chunk = { 0 };
	struct jfr_error error;
	struct jfr_event event;
	struct jfr_scan scan;
	int left = SETTINGS_WITHIN;
	bool labels = false;

	if (jfr_header(&chunk.header, data, length, 0, &error))
		return false;
	chunk.data = data;
	if (!jfr_meta_read(&chunk)) {
		jfr_scan(&scan, &chunk, ~0u);
		while (left-- && jfr_next(&scan, &event)) {
			if (event.kind != JFR_SETTING)
				continue;
			settings_read(settings, &chunk, &event);
			labels = labels || is_label(&chunk, &event);
		}
	}
	jfr_meta_free(&chunk);
	return labels && settings_may_label(&chunk.header);
}

void settings_fill(struct settings *settings, const struct settings *from)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *field = (char *)settings + rows[i].offset;
		const char *other = (const char *)from + rows[i].offset;
		int64_t number;

		memcpy(&number, field, sizeof(number));
		if (rows[i].text ? !*field : !number)
			memcpy(field, other, rows[i].text ? SETTING_TEXT : sizeof(number));
	}
}

void settings_begin(struct settings_along *along, const uint8_t *data, uint64_t length)
{
	settings_of(&along->first, data, length);
	along->upto = 0;
}

const struct settings *settings_at(struct settings_along *along, const uint8_t *data,
				   uint64_t length, uint64_t offset)
{
	struct jfr_header header;
	struct jfr_error error;
	bool labels = false;

	if (offset < along->upto)
		return &along->now;
	for (; !labels && !jfr_header(&header, data, length, offset, &error);
	     offset += header.size) {
		along->now = (struct settings){ 0 };
		labels = settings_may_label(&header) &&
			 settings_of(&along->now, data + offset, header.size);
	}
	if (!labels)
		along->now = (struct settings){ 0 };
	settings_fill(&along->now, &along->first);
	along->upto = labels ? offset : UINT64_MAX;
	return &along->now;
}
