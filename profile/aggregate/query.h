/* Query for recordings: metric, filters for events and stacks, display of names. The command fills
 * it from its switches; reporters and the live endpoint fill it themselves. */
#ifndef PROFILE_AGGREGATE_QUERY_H
#define PROFILE_AGGREGATE_QUERY_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/aggregate/debug_frame.h"

/* Weight of samples. METRIC_ANY: cpu if the recordings have it, else the first metric that they
 * have. */
enum metric {
	METRIC_ANY,
	METRIC_CPU,
	METRIC_WALL,
	METRIC_MALLOC,
	METRIC_LIVE, /* allocated and not freed at the end of the files */
	METRIC_OBJECT,
	METRIC_LIVE_OBJECT,
	METRIC_LOCK,
	METRICS,
};

struct pattern {
	bool set;
	regex_t regex;
};

/* Whether PATTERN is set and matches TEXT. */
static inline bool pattern_matches(const struct pattern *pattern, const char *text)
{
	return pattern->set && !regexec(&pattern->regex, text, 0, NULL, 0);
}

/* A point in time as the user typed it. */
struct moment {
	enum { MOMENT_NONE, MOMENT_OFFSET, MOMENT_DAY, MOMENT_ABSOLUTE } kind;
	int64_t ns; /* since the start (before the end if negative), since midnight, or since 1970 */
};

#define RENAMES_MAX 16

#define LABELS_ASKED_MAX 16

struct rename {
	regex_t regex;
	const char *name;
};

/* Symbolizer with debug files; `frames` is NULL if there is none. Several threads may call the
 * functions. */
struct address_lookup {
	void *arg;

	/* Called before the addresses of a recording are looked up. Afterwards, the symbolizer can
	 * report that there were no addresses. */
	void (*used)(void *arg);

	/* Fill FRAMES with the functions at ADDRESS of the library with BUILD_ID, innermost first.
	 * Returns their number. LIBRARY is for messages. The strings are valid as long as the
	 * lookup. */
	size_t (*frames)(void *arg, const char *build_id, const char *library, uint64_t address,
			 struct debug_frame frames[DEBUG_FRAMES_MAX]);
};

/* Frames to show of stacks with both script functions (Python, JavaScript, ..., Java) and native
 * functions. */
enum frames_shown {
	SHOW_FOLDED, /* all except internal frames of the interpreter */
	SHOW_ALL,
	SHOW_SCRIPT, /* script functions only */
	SHOW_NATIVE, /* native functions only */
};

/* Parts of waits that are stored in samples. More parts make more samples. */
enum wait_parts {
	WAIT_PARTS_NONE,
	WAIT_PARTS_KIND,   /* state and cause */
	WAIT_PARTS_OBJECT, /* also the file, peer or lock */
	WAIT_PARTS_OWNER,  /* also the system call, and the lock's owner and its stack */
};

struct query {
	struct pattern thread, include, exclude;
	struct moment from, to;
	int64_t length_ns; /* of the period, instead of `to`; 0: until `to` */
	struct rename renames[RENAMES_MAX];
	unsigned rename_count;
	bool threads, lines, simple, weighted;
	enum frames_shown frames;
	uint32_t folded;  /* categories to omit, a mask of 1 << enum frame_category */
	bool places;      /* store address, file and line in frames, even if they are not shown */
	bool no_threads;  /* count all samples for one thread, 0 */
	bool lock_places; /* METRIC_LOCK: omit the lock's class, the innermost frame */
	bool contexts;    /* store contexts in samples */
	bool times;       /* split samples by their time, in milliseconds */
	enum wait_parts waits; /* in wall-clock samples */
	bool wait_guesses;     /* store in waits whether they are derived */
	bool newest;           /* only the last sample of each thread in each chunk */

	/* Required labels, "KEY=VALUE", of the sample or its recording. Of several labels with the
	 * same key, one must match. */
	const char *labels[LABELS_ASKED_MAX];
	unsigned label_count;
	uint32_t states,
		causes;    /* required wait, masks of wait_matches(); only wall-clock samples */
	const char *trace; /* required trace ID, in hexadecimal; NULL: any */
	struct address_lookup lookup;

	bool retained; /* METRIC_LIVE: the engine's snapshots replace single events (heap_visit_held) */
	bool leak;     /* METRIC_LIVE: omit allocations that are too young to be leaks, */
	double tail; /* those in this last part of the time, 0 to 1 */

	unsigned jobs; /* reader threads; 0: one per processor */

	/* Maximum memory of a profile's stacks; 0: no limit. Samples with further stacks count as
	 * samples without a stack. */
	uint64_t stack_bytes_max;
};

/* Whether samples are distinguished or selected by what their threads waited for. */
static inline bool query_wants_waits(const struct query *query)
{
	return query->waits || query->states || query->causes;
}

#define QUERY_INIT                            \
	{                                     \
		.weighted = true, .tail = 0.1 \
	}

#endif
