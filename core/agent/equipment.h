/* What an agent works with: its engines and its reporters. */
#ifndef CORE_AGENT_EQUIPMENT_H
#define CORE_AGENT_EQUIPMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agent/engine.h"
#include "core/agent/live.h"
#include "core/agent/report.h"

#define AGENT_REPORTERS_MAX 4

/* Who watches for stalls of event loops, as the agent knows it. All calls are made on the agent thread. */
struct stall_watch {
	/* Begin: a turn of more than NS is a stall. SIGNALLED: the builtin engine takes samples here, by which a thread
	 * that is late takes its stack. What fails is said in the log. */
	void (*open)(uint64_t ns, bool signalled);

	/* From now on one of more than NS is. */
	void (*set)(uint64_t ns);

	/* ON: watch no more, until it is off again. */
	void (*pause)(bool on);

	/* End it. */
	void (*close)(void);
};

struct agent_equipment {
	const struct engine *engine;
	/* Samples native memory where ENGINE is not to, into chunks of its own; else NULL. */
	const struct engine *mem_engine;
	/* Samples all threads once where ENGINE cannot; NULL where that can, or nobody is free to. */
	const struct engine *look_engine;
	const char *version; /* of the program, as its environment tells; NULL: it does not */
	/* Write a chunk to FD, an empty file, that tells whom REPORT is of: the host, the executable, the
	 * version and the tags. Returns 0 or -errno. NULL: recordings do not tell. */
	int (*write_labels)(int fd, const struct report *report);
	/* Write a chunk to FD, an empty file, that tells of a crash, where ENGINE does not. Returns 0 or -errno, -ENODATA
	 * where there was none. NULL: ENGINE tells. */
	int (*write_crash)(int fd);
	struct reporter *reporters[AGENT_REPORTERS_MAX];
	size_t reporter_count;
	const struct live_endpoint *endpoint; /* NULL: there is none */
	const struct stall_watch *stalls;     /* likewise; it is opened where they are asked for */
};

#endif
