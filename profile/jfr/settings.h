/* What a recording says of how it was made: its jdk.ActiveSetting events. */
#ifndef PROFILE_JFR_SETTINGS_H
#define PROFILE_JFR_SETTINGS_H

#include "profile/jfr/jfr_read.h"

#define SETTING_TEXT 40

/* A chunk that a rotation cut out has no settings of its own, so those of the chunk before hold on.
 * Zero or "" where they are not known. */
struct settings {
	int64_t cpu_interval_ns, wall_interval_ns, mem_interval;
	char clock[SETTING_TEXT], engine[SETTING_TEXT], version[SETTING_TEXT];
};

/* Put EVENT's, a setting's, name and value behind what is in NAME and TEXT. False where it lacks one, or
 * there is no room. */
bool settings_append_pair(const struct jfr_chunk *chunk, const struct jfr_event *event,
			  struct buf *name, struct buf *text);

/* Take in EVENT, a setting. */
void settings_read_event(struct settings *settings, const struct jfr_chunk *chunk,
			 const struct jfr_event *event);

/* Take in the settings of the first chunk in DATA. True where it is one that tells whom a recording is of
 * (engine/collect/label_chunk.h): what it says of intervals holds for the chunks before it. */
bool settings_read_first_chunk(struct settings *settings, const uint8_t *data, uint64_t length);

/* Put what FROM tells and SETTINGS does not in there. */
void settings_fill_missing(struct settings *settings, const struct settings *from);

/* Whether a chunk may be such a one: short, and of no duration. */
bool settings_may_be_label_chunk(const struct jfr_header *header);

/* The settings of one recording after another, chunk by chunk: async-profiler tells them in the first of its chunks
 * alone, so that a report that is not its first one has them behind, from its agent. Zeroed before the first. */
struct settings_tracker {
	struct settings first, now;
	uint64_t upto; /* where they end to hold */
};

/* Begin with the recording in DATA. What it does not tell is as in that before. */
void settings_tracker_start(struct settings_tracker *tracker, const uint8_t *data, uint64_t length);

/* Those that hold where its chunk at OFFSET begins; to be asked in the order of the chunks. Good until the next call. */
const struct settings *settings_tracker_get(struct settings_tracker *tracker, const uint8_t *data,
					    uint64_t length, uint64_t offset);

#endif
