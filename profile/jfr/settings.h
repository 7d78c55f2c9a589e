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
bool settings_pair(const struct jfr_chunk *chunk, const struct jfr_event *event, struct buf *name,
		   struct buf *text);

/* Take in EVENT, a setting. */
void settings_read(struct settings *settings, const struct jfr_chunk *chunk,
		   const struct jfr_event *event);

/* Take in the settings at the start of the recording in DATA, and of CONFIGURED the intervals that it does not tell: who
 * makes the recording knows what it was made with, and async-profiler tells it in the first of its chunks alone. NULL: not known. */
void settings_of(struct settings *settings, const uint8_t *data, uint64_t length,
		 const struct settings *configured);

#endif
