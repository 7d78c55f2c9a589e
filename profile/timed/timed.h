/* Samples and marks with their times: what views over time and exports are made of. */
#ifndef PROFILE_TIMED_TIMED_H
#define PROFILE_TIMED_TIMED_H

#include <stdbool.h>
#include <stdint.h>

/* Times and durations are limited, so that sums and differences do not overflow. */
#define TIMED_NS_MAX       INT64_C(4000000000000000000)
#define TIMED_DURATION_MAX INT64_C(1000000000000000000)

/* IDs of stacks, threads and contexts are those of the profile that is read into. */
struct timed_sample {
	int64_t time_ns;        /* since 1970 */
	int64_t duration_ns;    /* time that the sample stands for; 0: unknown, or none */
	double count, total;    /* samples or objects; ns or bytes, 0 if unknown */
	uint32_t stack, thread; /* 0: none */
	uint32_t context;       /* 0: none */
	uint32_t wait;          /* wall-clock samples, as the query wants it; 0: unknown */
	uint16_t metric;        /* enum metric */
	bool is_sleeping;       /* wall-clock samples: the thread did not run */
};

/* Samples of one thread and metric: from `from` up to `to`, excluded, of a list. */
struct timed_group {
	uint32_t thread, metric;
	uint64_t from, to;
};

/* Names are in timed_mark_names. */
enum timed_mark_kind {
	TIMED_STALL, /* of an event loop */
	TIMED_POLL,  /* a long one, of an event loop */
	TIMED_CRASH,
	TIMED_LOSSES,    /* samples that were not recorded */
	TIMED_REPORT,    /* start of a file */
	TIMED_GC,        /* garbage collection of the Java VM */
	TIMED_SAFEPOINT, /* of the Java VM */
	TIMED_SPAN,      /* of a trace: samples of one thread with the same span */
	TIMED_MARKS,
};

struct timed_mark {
	int64_t time_ns, duration_ns; /* duration 0: a point in time */
	uint32_t thread, stack;       /* 0: none */
	uint32_t labels;              /* of the recording, in the profile's names; 0: none */
	uint32_t text;                /* in the profile's names; 0: none */
	uint32_t kind;                /* enum timed_mark_kind */
};

/* "stall", "long poll". */
extern const char *const timed_mark_names[TIMED_MARKS];

/* Shorter polls are not marks. */
#define TIMED_POLL_MIN_NS 1000000

#endif
