/* Components of an agent: engines, reporters, live endpoint, stall watcher. */
#ifndef CORE_AGENT_EQUIPMENT_H
#define CORE_AGENT_EQUIPMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agent/engine.h"
#include "core/agent/live.h"
#include "core/agent/report.h"
#include "core/shared.h"

/* Interface of the stall watcher, which detects stalls of event loops. All calls are made on the agent thread. */
struct stall_watch {
	/* Start: a loop iteration longer than NS is a stall. SIGNALLED: the builtin engine takes samples in this session,
	 * and its signal makes a late thread take its own stack. Errors are logged. */
	void (*open)(uint64_t ns, bool signalled);

	/* Change the limit to NS. */
	void (*set)(uint64_t ns);

	/* ON: pause; otherwise continue. */
	void (*pause)(bool on);

	/* Stop. */
	void (*close)(void);
};

struct agent_equipment {
	const struct engine *engine;
	/* Samples native memory in its own chunks, if ENGINE does not; else NULL. */
	const struct engine *mem_engine;
	/* Samples all threads once, if ENGINE cannot; NULL when ENGINE can, or no engine is free. */
	const struct engine *thread_sampler;
	const char *version; /* the program's version from its environment; NULL: not known */
	/* Write a chunk that describes the origin of REPORT to FD, an empty file: host, executable, version and
	 * tags. Returns 0 or -errno. NULL: recordings have no labels. */
	int (*write_labels)(int fd, const struct report *report);
	/* Look at the states of threads if that is due at NOW_NS, each INTERVAL_NS, and return when it is due again.
	 * write_labels() writes them. NULL: ENGINE records states itself, or they are not wanted. */
	uint64_t (*look_at_waits)(uint64_t now_ns, uint64_t interval_ns);
	/* Drop these states, after a report. NULL as above. */
	void (*forget_waits)(void);
	/* Write a chunk that describes a crash to FD, an empty file. Returns 0 or -errno, -ENODATA without a crash.
	 * NULL: another engine records crashes, or none can be recorded. */
	int (*write_crash)(int fd);
	struct reporter *reporters[REPORTERS_MAX];
	size_t reporter_count;
	const struct live_endpoint *endpoint; /* NULL: none */
	const struct stall_watch *stalls;     /* NULL: none; opened when stalls are watched */
};

#endif
