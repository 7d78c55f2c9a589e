/* A report is one interval's recording, and a reporter is a place that reports go to. */
#ifndef CORE_AGENT_REPORT_H
#define CORE_AGENT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct running_files;

/* Whole JFR chunks that lie one after another in a file. */
struct report_part {
	int fd; /* read with pread(2) only: the engine goes on writing to it */
	off_t offset;
	uint64_t length;
};

/* A recording that took samples with two engines has a part from each, one more may tell of a crash, and one whom it is
 * of; the parts written one after another are one JFR file. */
#define REPORT_PARTS_MAX 4

/* What an engine was asked to take samples by; 0: not, or by each. */
struct sampling {
	uint64_t interval_ns, wall_ns; /* as its options of these names have it */
	uint64_t mem_bytes;
};

/* What became of this program's reports, from its start on. Set where reports wait for their
 * delivery; zero elsewhere. */
struct report_losses {
	uint64_t spooled_bytes; /* waiting when this report came */
	uint64_t dropped_bytes;
	uint64_t full, aged, refused; /* reports dropped: for room, too old, not wanted */
};

/* Whether what is sent may be there already, as what became of it before was not told. */
enum report_doubt {
	DOUBT_NONE,
	DOUBT_NEXT, /* what is sent next */
	DOUBT_ALL,  /* what is sent of this report */
};

/* How much of a report a destination has that takes it in several parts. All zero: nothing. */
struct report_begun {
	uint32_t kind, from, step; /* the reporter's own: where it goes on */
	uint32_t count; /* of what these are numbers; another count says that they are not */
	uint32_t doubt; /* enum report_doubt */
};

struct report {
	struct report_part parts[REPORT_PARTS_MAX];
	size_t part_count;

	uint64_t start_ms, end_ms; /* wall clock, since 1970 */
	uint64_t interval_ms;      /* the reporting interval as configured */

	/* Whom it is of, for names, metadata and the recording itself. */
	pid_t pid;
	const char *executable;   /* base name */
	const char *host;         /* the machine's own name; NULL: not known, or origin tells */
	const char *group, *tags; /* as configured; NULL: those of who delivers it */
	const char *version; /* the program's own, as its environment tells; NULL: it does not */
	/* Where it comes out of a spool (upload/queue/origin.h); NULL: this process. */
	const char *origin;

	const char *engine; /* "async-profiler" or "builtin" */
	const char *engine_version;
	/* Where its chunks do not each tell it: async-profiler's first does, and is in the first report alone. */
	struct sampling sampling;
	uint64_t samples_taken; /* in the recording: samples_count() */
	uint64_t samples_lost;  /* in this interval, as far as the engine tells */
	bool final;             /* the last one: the program is ending */
	bool recovered;         /* made of what a process that was killed has left in its spool */

	/* Set where reports wait for their delivery. */
	struct report_losses losses;
	uint32_t unique; /* no other report's that ends in this second, of whatever process */
	/* Likewise, where others may go on with it: deliver() does so, and notes where it was when it fails. NULL: it remembers that
	 * by itself. */
	struct report_begun *begun;
};

/* Bytes of all parts. */
uint64_t report_length(const struct report *report);

/* Call EACH for every tag of TAGS ("key=value,…"; NULL: none), until it returns an error, and return that;
 * -ENOMEM without memory. */
int report_each_tag(const char *tags, int (*each)(void *arg, const char *key, const char *value),
		    void *arg);

/* Copy every part to the end of FD, which is a file, from its current position on.
 * Returns 0 or -errno (-ENOSPC when the disk is full). */
int report_write(const struct report *report, int fd);

struct live_status;

/* A reporter is made by its own ..._reporter_open() and is first in its own struct. All calls
 * come from one thread. */
struct reporter {
	const char *name; /* "local", "s3": for the log */

	/* Which place this is, so that another process that reports there knows it again; no secrets,
	 * as it is written down beside what waits in a spool. NULL: NAME says it. The reporter's. */
	const char *destination;

	/* Messages that the destination may count twice: it had one whole and did not answer, and then took it. */
	uint64_t maybe_twice;

	/* Deliver REPORT, or take a copy and deliver it later; REPORT is the caller's and is valid
	 * for this call only. Returns 0 or -errno, after saying what is wrong in the log. */
	int (*deliver)(struct reporter *reporter, const struct report *report);

	/* Wait until what was taken is delivered, or until DEADLINE_NS (monotonic clock).
	 * NULL where deliver() leaves nothing behind. */
	void (*drain)(struct reporter *reporter, uint64_t deadline_ns);

	/* Make files for the running recording of WHOM, which outlive the process, and append to NOTE what
	 * who finds them needs to report it here. Returns 0 or -errno. NULL where there is no place. */
	int (*keep)(struct reporter *reporter, const struct report *whom,
		    struct running_files *files, struct buf *note);

	/* Release it. Never waits for the network. */
	void (*close)(struct reporter *reporter);

	/* Let a deliver() that is under way, on another thread, fail soon. NULL where none takes
	 * long. */
	void (*cancel)(struct reporter *reporter);

	/* Add to STATUS what has become of the reports. NULL where it does not tell. */
	void (*tell)(struct reporter *reporter, struct live_status *status);
};

#endif
