/* What somebody wants of recordings: what is weighed, which events and stacks count, and how names
 * are shown. The command fills it in from its switches. */
#ifndef PROFILE_AGGREGATE_QUERY_H
#define PROFILE_AGGREGATE_QUERY_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/aggregate/debug_frame.h"

/* What is weighed. METRIC_ANY is cpu where there is any, else the first there is. */
enum metric {
	METRIC_ANY,
	METRIC_CPU,
	METRIC_WALL,
	METRIC_MALLOC,
	METRIC_LIVE, /* allocated and not freed, to the end of the files */
	METRIC_OBJECT,
	METRIC_LIVE_OBJECT,
	METRIC_LOCK,
	METRICS,
};

struct pattern {
	bool set;
	regex_t regex;
};

/* False where PATTERN is not set. */
static inline bool pattern_matches(const struct pattern *pattern, const char *text)
{
	return pattern->set && !regexec(&pattern->regex, text, 0, NULL, 0);
}

/* A point in time as it was typed. */
struct moment {
	enum { MOMENT_NONE, MOMENT_OFFSET, MOMENT_DAY, MOMENT_ABSOLUTE } kind;
	int64_t ns; /* since the start (from the end when negative), since midnight, since 1970 */
};

#define RENAMES_MAX 16

#define LABELS_ASKED_MAX 16

struct rename {
	regex_t regex;
	const char *name;
};

/* Somebody who has debug files; `frames` is NULL where nobody has. Several threads may call. */
struct address_lookup {
	void *arg;

	/* A recording is read: from now on it counts that no address was asked for. */
	void (*used)(void *arg);

	/* What is at ADDRESS of the library with BUILD_ID, innermost first: how many of FRAMES were
	 * filled in. LIBRARY is for messages. The strings stay for as long as the lookup. */
	size_t (*frames)(void *arg, const char *build_id, const char *library, uint64_t address,
			 struct debug_frame frames[DEBUG_FRAMES_MAX]);
};

/* Which frames of a stack that has functions of Python, JavaScript or the like among native ones. */
enum frames_shown {
	SHOW_FOLDED, /* all but those of the interpreter that say nothing of the program */
	SHOW_ALL,
	SHOW_SCRIPT, /* of those languages alone */
	SHOW_NATIVE, /* of none of them */
};

struct query {
	struct pattern thread, include, exclude;
	struct moment from, to;
	struct rename renames[RENAMES_MAX];
	unsigned rename_count;
	bool threads, lines, simple, weighted;
	enum frames_shown frames;
	bool places;     /* frames keep address, file and line, though they are not shown */
	bool no_threads; /* all samples are of one thread, 0 */
	bool contexts;   /* samples keep what their threads worked on */
	bool newest;     /* of each thread the last sample of a chunk alone */

	/* "KEY=VALUE", which a sample must have, or the recording that it is in; of one key any. And the
	 * trace that it must be of, in hexadecimal; NULL: whichever. */
	const char *labels[LABELS_ASKED_MAX];
	unsigned label_count;
	const char *trace;
	struct address_lookup lookup;

	bool retained; /* memory: what the sampler's table held at the end, whenever it was allocated */
	bool leak;     /* of METRIC_LIVE, leave out what is too young to be called a leak: */
	double tail; /* the youngest share of the time */

	unsigned jobs; /* threads to read with; 0: one for each processor */

	/* The most that a profile's stacks take; those beyond count as if none had been taken.
	 * 0: no bound. */
	uint64_t stack_bytes_max;
};

#define QUERY_INIT                            \
	{                                     \
		.weighted = true, .tail = 0.1 \
	}

#endif
