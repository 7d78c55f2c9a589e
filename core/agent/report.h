/* Reports and reporters. A report is one interval's recording. A reporter delivers reports to one destination. */
#ifndef CORE_AGENT_REPORT_H
#define CORE_AGENT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/cost.h"

struct buf;
struct running_files;

/* Consecutive whole JFR chunks in a file. */
struct report_part {
	int fd; /* read with pread(2) only: the engine still writes to it */
	off_t offset;
	uint64_t length;
};

/* Maximum number of parts: one from each of two engines, one for a crash, and one with the labels. The concatenated
 * parts are a JFR file. */
#define REPORT_PARTS_MAX 4

/* Sampling intervals of an engine. 0: this kind is not sampled, or each of its events is. */
struct sampling {
	uint64_t interval_ns, wall_ns; /* values of the engine's options with these names */
	uint64_t mem_bytes;
};

/* Cost of one kind of samples in an interval. */
struct report_cost {
	uint64_t samples, ns;
	/* Time in which the kind was sampled; and the sum of that time multiplied by the kept share of the samples. The
	 * kept share is the configured interval divided by the effective one, which the overhead budget lengthens. */
	uint64_t sampled_ns, kept_ns;
};

/* Cost of the agent in an interval; all 0: not known. */
struct report_costs {
	uint64_t elapsed_ns;
	uint64_t program_ns; /* CPU time of the process, without the agent's */
	uint64_t fixed_ns;   /* CPU time of the agent that does not depend on the intervals */
	struct report_cost kinds[COST_KINDS];
};

/* Losses of this program's reports since its start. The queue (upload/queue/queue.h) sets them; without a queue only
 * dropped_refused is set. */
struct report_losses {
	uint64_t spooled_bytes; /* waiting for delivery when the queue received this report */
	uint64_t dropped_bytes;
	uint64_t dropped_full, dropped_aged,
		dropped_refused; /* reports: no space, too old, refused */
};

/* Whether the destination may already have data, because the result of an earlier try is unknown. */
enum report_doubt {
	DOUBT_NONE,
	DOUBT_NEXT, /* the next message */
	DOUBT_ALL,  /* all messages of this report */
};

/* Progress of the delivery of a report in several messages. All zero: nothing is delivered. */
struct report_begun {
	uint32_t kind, from, step; /* position to continue at; defined by the reporter */
	/* Number of items in the report when the position was stored. If the report now has another number, the position
	 * is invalid. */
	uint32_t count;
	uint32_t doubt; /* enum report_doubt */
};

struct report {
	struct report_part parts[REPORT_PARTS_MAX];
	size_t part_count;

	uint64_t start_ms, end_ms; /* wall clock, since 1970 */
	uint64_t interval_ms;      /* the reporting interval as configured */

	/* Origin of the report, for names, metadata and the recording itself. */
	pid_t pid;
	/* When this process was first profiled: tells processes apart that get one PID in turn, as PID 1 of a
	 * container. 0: not known. */
	uint64_t profiled_since_ms;
	const char *executable;   /* base name */
	const char *host;         /* the machine's host name; NULL: not known, or in origin */
	const char *group, *tags; /* as configured; NULL: those of the process that delivers it */
	const char *version;      /* the program's version from its environment; NULL: not known */
	/* Origin of a report from a spool (upload/queue/origin.h); NULL: this process. */
	const char *origin;

	const char *engine; /* "async-profiler" or "builtin" */
	const char *engine_version;
	/* Sampling intervals, if not every chunk has them: async-profiler writes them only into its first chunk. */
	struct sampling sampling;
	uint64_t samples_taken; /* in the recording; see samples_count() */
	uint64_t samples_lost;  /* in this interval, if the engine reports it */
	bool final;             /* the last one: the program is ending */
	bool recovered;         /* made from the spool of a killed process */

	struct report_costs costs;

	/* The queue sets these members (upload/queue/queue.h). */
	struct report_losses losses;
	uint32_t unique; /* unique among reports of all processes that end in this second */
	/* deliver() continues at this position, and updates it on failure; the queue stores it, so another process may
	 * continue. NULL: the reporter stores the position itself. */
	struct report_begun *begun;
};

/* Return the bytes of all parts. */
uint64_t report_length(const struct report *report);

/* Call EACH for every tag of TAGS ("key=value,…"; NULL: none) until it returns an error. Returns that error; -ENOMEM
 * without memory. */
int report_each_tag(const char *tags, int (*each)(void *arg, const char *key, const char *value),
		    void *arg);

/* Write every part to FD, a file, at its current position. Returns 0 or -errno (-ENOSPC when the disk is full). */
int report_write(const struct report *report, int fd);

struct live_status;

/* Interface of a reporter. Its ..._reporter_open() creates it, as the first member of its own struct. Only one thread
 * at a time calls it: the agent's thread, or a delivery thread (upload/queue/queue.h). Another thread may call
 * cancel(). */
struct reporter {
	const char *name; /* "local", "s3": for the log */

	/* Identifies the destination for other processes that deliver there. No secrets: it is stored in a spool.
	 * NULL: NAME identifies it. The reporter owns it. */
	const char *destination;

	/* Number of messages that the destination may count twice: it received one, did not answer, and accepted the
	 * retry. */
	uint64_t maybe_twice;

	/* Deliver REPORT, or copy it and deliver it later. The caller owns REPORT, which is valid during this call
	 * only. Returns 0, or -errno after logging the error. */
	int (*deliver)(struct reporter *reporter, const struct report *report);

	/* Wait until all accepted reports are delivered, or until DEADLINE_NS (monotonic clock). NULL when deliver()
	 * returns after delivery. */
	void (*drain)(struct reporter *reporter, uint64_t deadline_ns);

	/* Create FILES for the running recording; they outlive the process. Append to NOTE the data that a later
	 * process needs to deliver the recording here; REPORT describes its origin. With FILES NULL, make only the
	 * NOTE. Returns 0, or -errno; -ENOENT without a spool. NULL when the reporter never has one. */
	int (*create_running_files)(struct reporter *reporter, const struct report *report,
				    struct running_files *files, struct buf *note);

	/* Free the reporter. Never waits for the network. */
	void (*close)(struct reporter *reporter);

	/* Make a running deliver(), on another thread, fail soon. NULL when deliver() is always quick. */
	void (*cancel)(struct reporter *reporter);

	/* Add the state of the reports to STATUS. NULL when the reporter has none. */
	void (*add_status)(struct reporter *reporter, struct live_status *status);
};

#endif
