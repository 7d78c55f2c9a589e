/* Interface of an engine, which takes the samples: async-profiler's library or the builtin one. The agent knows
 * engines by this interface only. */
#ifndef CORE_AGENT_ENGINE_H
#define CORE_AGENT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/asprof.h"

#define ENGINE_OFF UINT64_MAX

/* Start parameters of an engine. */
struct engine_start {
	const char *file;     /* the recording's file, which exists */
	bool cpu;             /* the interval is CPU time; otherwise wall-clock time */
	uint64_t interval_ns; /* or ENGINE_OFF */
	uint64_t wall_ns;     /* wall-clock interval where CPU time is sampled too, or ENGINE_OFF */
	uint64_t
		mem_bytes; /* bytes between two samples of native memory; 0: every allocation; or ENGINE_OFF */
	uint64_t lock_ns;   /* waiting time between two samples of waits for locks, or ENGINE_OFF */
	const char *cstack; /* method of stack walking */
	const char *options; /* ENGINE_OPTIONS, which override these, or NULL */
};

/* Lost data by cause. */
struct engine_losses {
	bool is_reported;     /* the engine reports the following counts */
	uint64_t ring_full;   /* samples taken faster than they were collected */
	uint64_t late;        /* samples due while their thread could not take them */
	uint64_t timers;      /* threads without a timer */
	uint64_t allocations; /* live allocations that are no longer tracked */
	uint64_t stacks;      /* samples without a stack: too many different stacks */
	uint64_t threads;     /* threads without a name: too many threads */
	uint64_t events;      /* events not written: no memory or no space */
	uint64_t stalls;      /* stalls not reported: too many in a second */
};

/* Counts since the engine's start. */
struct engine_counts {
	uint64_t taken, lost; /* samples */
	struct engine_losses losses;
	uint64_t memory_kb; /* memory of the engine that grows while it runs */
};

/* All calls are made from the agent thread, except those marked "any thread". */
struct engine {
	const char *name; /* "async-profiler" or "builtin" */

	/* Start sampling and recording; finish the current chunk and continue; finish the last chunk and stop. The
	 * engine's messages go to the log. Each returns 0, or -errno of failed(). */
	int (*start)(const struct engine_start *start);
	int (*rotate)(void);
	int (*stop)(void);

	/* Sample at the intervals of START from now on, and finish the current chunk. Returns 0; -ENOTSUP if that
	 * needs a restart; or -errno of failed(). NULL: it always needs a restart. */
	int (*change_intervals)(const struct engine_start *start);

	/* Fill in COUNTS. False, with COUNTS unchanged, when they are not available. */
	bool (*counts)(const struct engine *engine, struct engine_counts *counts);

	/* Return the bytes of current chunks that are not in the recording's file. NULL when all are in the file. */
	uint64_t (*chunk_bytes)(void);

	/* Write the engine's version to TEXT, which is unchanged when it is not known. */
	void (*version)(const struct engine *engine, char *text, size_t size);

	/* Finish a chunk within a report, without data that a report holds once. Returns 0 or -errno. NULL: rotate()
	 * does it. */
	int (*end_chunk)(void);

	/* Do work that is due while sampling. Called at the time that the last call returned (monotonic clock,
	 * UINT64_MAX: never), and when the agent wakes. NULL when the engine has its own threads. */
	uint64_t (*service)(uint64_t now_ns);

	/* True when the engine may be started again now. NULL: always. */
	bool (*can_restart)(void);

	/* After stop(), if the program or its user wants no more samples: remove everything from the program. NULL
	 * when there is nothing to remove. */
	void (*leave)(void);

	/* BEGIN: sample every thread now for the wall clock, even if that is not sampled otherwise. Returns the
	 * number of threads whose requested sample is pending. The others are in the recording after the next
	 * rotate(). NULL when it cannot. */
	unsigned (*sample_threads)(bool begin);

	/* Any thread, not in signal context. NULL when the engine has no such function. */
	struct asprof_thread_local_data *(*get_thread_local_data)(void);
	asprof_jfr_event_key (*register_jfr_event)(const char *name);
	asprof_error_t (*emit_jfr_event)(asprof_jfr_event_key key, const uint8_t *data,
					 size_t length);
};

#endif
