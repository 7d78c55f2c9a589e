/* Settings of a recording: its jdk.ActiveSetting events. */
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
	bool is_text; /* else an int64_t */
} setting_members[] = {
	{ "interval", offsetof(struct settings, cpu_interval_ns), false },
	{ "wall", offsetof(struct settings, wall_interval_ns), false },
	{ "nativemem", offsetof(struct settings, mem_interval), false },
	{ "clock", offsetof(struct settings, clock), true },
	{ "engine", offsetof(struct settings, engine), true },
	{ "version", offsetof(struct settings, version), true },
};

/* A JDK writes settings per event type: the period of jdk.ExecutionSample ("20 ms") is its sampling
 * interval. Returns true if NAME is such a period. */
static bool settings_read_jdk_period(struct settings *settings, const struct jfr_chunk *chunk,
				     const struct jfr_event *event, const char *name,
				     const char *value)
{
	const struct jfr_type *type;
	struct jfr_value id;
	char *end;
	double ms;

	if (strcmp(name, "period") || !jfr_event_get_field(chunk, event, "id", &id))
		return false;
	type = jfr_type_by_id(chunk, (uint64_t)jfr_value_integer(&id));
	ms = strtod(value, &end);
	if (type && !strcmp(type->name, "jdk.ExecutionSample") && end != value &&
	    !strcmp(end, " ms") && ms > 0 && ms < 1e9)
		settings->cpu_interval_ns = (int64_t)(ms * 1e6);
	return true;
}

bool settings_append_pair(const struct jfr_chunk *chunk, const struct jfr_event *event,
			  struct buf *name, struct buf *text)
{
	struct jfr_value value;

	return jfr_event_get_field(chunk, event, "name", &value) &&
	       jfr_value_append_string(chunk, &value, name) &&
	       jfr_event_get_field(chunk, event, "value", &value) &&
	       jfr_value_append_string(chunk, &value, text);
}

void settings_read_event(struct settings *settings, const struct jfr_chunk *chunk,
			 const struct jfr_event *event)
{
	struct buf name = BUF_INIT(256), text = BUF_INIT(4096);
	const char *key, *setting;

	if (!settings_append_pair(chunk, event, &name, &text))
		goto out;
	key = buf_string(&name);
	setting = buf_string(&text);
	if (!key || !setting || settings_read_jdk_period(settings, chunk, event, key, setting))
		goto out;
	for (size_t i = 0; i < sizeof(setting_members) / sizeof(setting_members[0]); i++) {
		char *field = (char *)settings + setting_members[i].offset;

		if (strcmp(key, setting_members[i].name))
			continue;
		if (setting_members[i].is_text) {
			snprintf(field, SETTING_TEXT, "%s", setting);
			text_clean_string(field);
		} else {
			*(int64_t *)(void *)field = strtoll(setting, NULL, 10);
		}
	}
	/* Every allocation is recorded; 0 would mean unknown. */
	if (!strcmp(key, "nativemem") && !settings->mem_interval)
		settings->mem_interval = 1;
out:
	buf_free(&name);
	buf_free(&text);
}

/* Settings are among the first events of a recording. */
#define SETTING_EVENTS_MAX 1000

/* A label chunk is smaller. */
#define LABEL_CHUNK_MAX (1u << 20)

bool settings_may_be_label_chunk(const struct jfr_header *header)
{
	return !header->duration_ns && header->size <= LABEL_CHUNK_MAX;
}

static bool event_is_label(const struct jfr_chunk *chunk, const struct jfr_event *event)
{
	static const char prefix[] = "agent.";
	struct buf name = BUF_INIT(256), text = BUF_INIT(65536);
	bool is = settings_append_pair(chunk, event, &name, &text) &&
		  name.length >= strlen(prefix) && !memcmp(name.data, prefix, strlen(prefix));

	buf_free(&name);
	buf_free(&text);
	return is;
}

bool settings_read_first_chunk(struct settings *settings, const uint8_t *data, uint64_t length)
{
	struct jfr_chunk chunk = { 0 };
	struct jfr_error error;
	struct jfr_event event;
	struct jfr_scan scan;
	int left = SETTING_EVENTS_MAX;
	bool labels = false;

	if (jfr_header_read(&chunk.header, data, length, 0, &error))
		return false;
	chunk.data = data;
	if (!jfr_meta_read(&chunk)) {
		jfr_scan_start(&scan, &chunk, ~0u);
		while (left-- && jfr_scan_next(&scan, &event)) {
			if (event.kind != JFR_SETTING)
				continue;
			settings_read_event(settings, &chunk, &event);
			labels = labels || event_is_label(&chunk, &event);
		}
	}
	jfr_meta_free(&chunk);
	return labels && settings_may_be_label_chunk(&chunk.header);
}

void settings_fill_missing(struct settings *settings, const struct settings *from)
{
	for (size_t i = 0; i < sizeof(setting_members) / sizeof(setting_members[0]); i++) {
		char *field = (char *)settings + setting_members[i].offset;
		const char *other = (const char *)from + setting_members[i].offset;
		int64_t number;

		memcpy(&number, field, sizeof(number));
		if (setting_members[i].is_text ? !*field : !number)
			memcpy(field, other,
			       setting_members[i].is_text ? SETTING_TEXT : sizeof(number));
	}
}

void settings_tracker_start(struct settings_tracker *tracker, const uint8_t *data, uint64_t length)
{
	settings_read_first_chunk(&tracker->initial, data, length);
	tracker->valid_until = 0;
}

const struct settings *settings_tracker_get(struct settings_tracker *tracker, const uint8_t *data,
					    uint64_t length, uint64_t offset)
{
	struct jfr_header header;
	struct jfr_error error;
	bool labels = false;

	if (offset < tracker->valid_until)
		return &tracker->current;
	for (; !labels && !jfr_header_read(&header, data, length, offset, &error);
	     offset += header.size) {
		tracker->current = (struct settings){ 0 };
		labels = settings_may_be_label_chunk(&header) &&
			 settings_read_first_chunk(&tracker->current, data + offset, header.size);
	}
	if (!labels)
		tracker->current = (struct settings){ 0 };
	settings_fill_missing(&tracker->current, &tracker->initial);
	tracker->valid_until = labels ? offset : UINT64_MAX;
	return &tracker->current;
}
