/* Settings of a recording: its jdk.ActiveSetting events. */
#ifndef PROFILE_JFR_SETTINGS_H
#define PROFILE_JFR_SETTINGS_H

#include "profile/jfr/jfr_read.h"

#define SETTING_TEXT 40

/* Zero or "" if unknown. A chunk that a rotation cut out of a recording has no settings; those of
 * the previous chunk apply. */
struct settings {
	int64_t cpu_interval_ns, wall_interval_ns, mem_interval; /* mem_interval: bytes */
	char clock[SETTING_TEXT], engine[SETTING_TEXT], version[SETTING_TEXT];
};

/* Append EVENT's name to NAME and its value to TEXT. EVENT is a JFR_SETTING. Returns false if
 * either is missing or does not fit. */
bool settings_append_pair(const struct jfr_chunk *chunk, const struct jfr_event *event,
			  struct buf *name, struct buf *text);

/* Set the member that EVENT, a JFR_SETTING, is for. Other settings are ignored. */
void settings_read_event(struct settings *settings, const struct jfr_chunk *chunk,
			 const struct jfr_event *event);

/* Read the settings of the first chunk in DATA, LENGTH bytes. Returns true if it is a label chunk
 * (engine/collect/label_chunk.h): its intervals apply to the chunks before it. */
bool settings_read_first_chunk(struct settings *settings, const uint8_t *data, uint64_t length);

/* Copy the members of FROM that are unknown in SETTINGS. */
void settings_fill_missing(struct settings *settings, const struct settings *from);

/* Whether a chunk can be a label chunk: short, with a duration of 0. */
bool settings_may_be_label_chunk(const struct jfr_header *header);

/* Settings of consecutive recordings, chunk by chunk. async-profiler writes settings only in its
 * first chunk. In later reports they are only in the agent's label chunk, at the end of the report.
 * Zero the tracker before the first recording. */
struct settings_tracker {
	struct settings initial, current;
	uint64_t valid_until; /* offset at which `current` ends to apply */
};

/* Start the recording in DATA. Settings that it does not have are those of the previous
 * recording. */
void settings_tracker_start(struct settings_tracker *tracker, const uint8_t *data, uint64_t length);

/* Returns the settings that apply at the start of the chunk at OFFSET, valid until the next call.
 * Call it for the chunks in their order. */
const struct settings *settings_tracker_get(struct settings_tracker *tracker, const uint8_t *data,
					    uint64_t length, uint64_t offset);

#endif
