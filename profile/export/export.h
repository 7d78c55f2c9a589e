/* Writers of other profilers' formats with the time of each sample.
 *
 * Each writes STORE to FILE and returns 0 or -errno; errors of FILE stay in FILE. Memory grows with
 * the different stacks, not with the samples. One thread uses a store. */
#ifndef PROFILE_EXPORT_EXPORT_H
#define PROFILE_EXPORT_EXPORT_H

#include <stdio.h>

#include "profile/timed/timed_store.h"

/* speedscope's JSON (https://www.speedscope.app/file-format-schema.json): a profile per thread and
 * metric. Time without samples is an empty stack. Marks are profiles of their own, by kind and
 * thread. */
int speedscope_write(FILE *file, const struct timed_store *store, const char *title);

/* Firefox Profiler's processed profile, JSON: a thread per thread and metric, with its marks. */
int firefox_write(FILE *file, const struct timed_store *store, const char *title);

/* Perfetto's trace: perf samples, and slices for the marks. */
int perfetto_write(FILE *file, const struct timed_store *store);

#define EXPORT_NAME_MAX 400

/* Format the name of GROUP: process, thread and, if there are several metrics, the metric. */
void export_group_name(const struct timed_store *store, const struct timed_group *group,
		       char name[EXPORT_NAME_MAX]);

/* Process ID in NAME, "NAME_PID"; 0 if there is none. */
uint32_t export_pid(const char *name);

/* The stack of ID: its frames, leaf first, and their number. */
const uint32_t *export_stack(const struct timed_store *store, uint32_t id, uint32_t *depth);

/* Get the part of MARK after *END, the end of the mark before it, because slices of a track must
 * not overlap. Sets *START and *END in ns since 1970. Returns false if nothing is left. */
bool export_clip_mark(const struct timed_mark *mark, int64_t *end, int64_t *start);

#endif
