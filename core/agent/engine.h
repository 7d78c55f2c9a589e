/* An engine takes the samples: async-profiler's library, or the builtin one. The agent knows
 * no more of either than this. */
#ifndef CORE_AGENT_ENGINE_H
#define CORE_AGENT_ENGINE_H

#include <stdbool.h>

#include "core/asprof.h"

/* What is missing, and why. */
struct engine_losses {
	bool told;            /* the engine knows */
	uint64_t ring_full;   /* samples: taken faster than they could be collected */
	uint64_t late;        /* samples: due while their thread could not take them */
	uint64_t timers;      /* threads that have no timer */
	uint64_t allocations; /* that live and are not followed any more */
	uint64_t stacks;      /* samples without theirs: too many different ones */
	uint64_t threads;     /* without a name: too many */
	uint64_t events;      /* not written, for want of memory or room */
	uint64_t stalls;      /* not told: too many in a second */
};

/* Since it was started. */
struct engine_counts {
	uint64_t taken, lost; /* samples */
	struct engine_losses losses;
	uint64_t memory_kb; /* what it holds that grows for as long as it runs */
};

/* All calls are made from the agent thread, except those marked "any thread". */
struct engine {
	const char *name; /* "async-profiler" or "builtin" */

	/* Words for ERR, valid for ever. */
	const char *(*error_str)(asprof_error_t err);

	/* Carry out COMMAND ("start,event=cpu,…", "stop", "dump"), sending what it prints to OUTPUT,
	 * which is never NULL: without one, async-profiler writes to the program's standard output. */
	asprof_error_t (*execute)(const char *command, asprof_writer_t output);

	/* Fill in COUNTS; false, with COUNTS as it was, where it does not tell. */
	bool (*counts)(const struct engine *engine, struct engine_counts *counts);

	/* Put its version into TEXT; as it was where it does not tell. */
	void (*version)(const struct engine *engine, char *text, size_t size);

	/* The CPU time that the last command took of a thread of the engine's own. NULL where it has none. */
	uint64_t (*took_ns)(void);

	/* Do what is due while sampling; called when it asked to be (monotonic clock, UINT64_MAX:
	 * never), and when the agent is woken. NULL where the engine has threads of its own. */
	uint64_t (*service)(uint64_t now_ns);

	/* Behind "stop", where the program or its user wants no more samples: leave nothing in the program. NULL where
	 * there is nothing that could go. */
	void (*leave)(void);

	/* BEGIN: have every thread sampled now, for the wall clock, whether or not that is sampled. Returns
	 * of how many threads no sample has come yet that was asked for; those that have come are in the recording
	 * with the next dump. NULL where it cannot. */
	unsigned (*sample_threads)(bool begin);

	/* Any thread, not in signal context. NULL where the engine has none. */
	struct asprof_thread_local_data *(*get_thread_local_data)(void);
	asprof_jfr_event_key (*register_jfr_event)(const char *name);
	asprof_error_t (*emit_jfr_event)(asprof_jfr_event_key key, const uint8_t *data,
					 size_t length);
};

#endif
