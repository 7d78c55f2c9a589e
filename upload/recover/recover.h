/* Recovery of a spool after processes were killed. The finished chunks of their running
 * recordings (core/agent/running_files.h) become reports. These wait in the spool for the destinations of
 * the dead process.
 *
 * Files of a spool are not trusted. Files of other users are ignored, every length is checked,
 * and incomplete chunks are dropped. A damaged recording does not prevent the recovery of
 * others. */
#ifndef UPLOAD_RECOVER_RECOVER_H
#define UPLOAD_RECOVER_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/report.h"
#include "upload/files/name.h"

struct cJSON;

enum recover_outcome {
	RECOVER_MADE,    /* made a report; with DRY, a report could be made */
	RECOVER_ALIVE,   /* its process is alive */
	RECOVER_NOTHING, /* already reported completely; removed */
	RECOVER_FOREIGN, /* belongs to another user */
	RECOVER_DAMAGED, /* unreadable; removed */
	RECOVER_FAILED,  /* see ERR; not removed */
	RECOVER_WAITS,   /* a finished report that waits in the spool for delivery */
};

struct recover_result {
	const char *name; /* of the note or the finished report in the directory */
	enum recover_outcome outcome;
	int err;
	const struct report *report; /* with RECOVER_MADE, and otherwise if known; else NULL */
	const char *made;            /* name of the recording; NULL: none */
	const struct cJSON *pending; /* names of its destinations: an array of strings */
	uint64_t left_out;           /* bytes of the recording outside readable finished chunks */
};

struct recover_how {
	bool dry;      /* only report results, change nothing */
	bool finished; /* handle finished reports too: move them to OUT, or only report them */
	/* Move only finished reports for a destination whose name begins so; NULL: all. */
	const char *destination;
	int out;                      /* directory for the profiles; -1: reports go to the spool */
	uint32_t max_names;           /* handle at most so many, and leave the others; 0: all */
	bool (*go_on)(void *context); /* asked before each recording; NULL: do not stop */
	void (*on_result)(void *context,
			  const struct recover_result *result); /* NULL: no reports */
	void *context;
};

/* Recover all recordings in DIR in the order of their names. Files are removed after the report
 * is on disk. Only one process at a time recovers. Any thread of the agent. Returns the number
 * of reports, or -errno: -EBUSY while another process recovers. */
int recover_spool(int dir, const struct recover_how *how);

#endif
