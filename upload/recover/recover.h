/* What processes that were killed have left in a spool: their running recordings (core/agent/running_files.h) become
 * reports, which wait there like any other for whom the dead process reported to.
 *
 * Files of a spool are believed nothing: those of other users are left alone, every length is checked, and
 * what is not whole is left out; one that is damaged keeps no other from being recovered. */
#ifndef UPLOAD_RECOVER_RECOVER_H
#define UPLOAD_RECOVER_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/report.h"
#include "upload/files/name.h"

enum recover_outcome {
	RECOVER_MADE,    /* a report, or with DRY what would be one */
	RECOVER_ALIVE,   /* its process runs */
	RECOVER_NOTHING, /* it had reported all that it had: removed */
	RECOVER_FOREIGN, /* another user's */
	RECOVER_DAMAGED, /* no recording can be made of it: removed */
	RECOVER_FAILED,  /* ERR says why; it stays */
};

struct recover_result {
	const char *name; /* of the journal, in the directory */
	enum recover_outcome outcome;
	int err;
	const struct report
		*report;     /* with RECOVER_MADE, and where it is known with others; else NULL */
	const char *made;    /* the name of the recording; NULL: none */
	const char *pending; /* whom it is for: names, a NUL behind each, and an empty one */
	uint64_t left_out; /* bytes of the recording that are in no chunk that could be finished */
};

struct recover_how {
	bool dry; /* look, and change nothing */
	int out;  /* a directory that the profiles go to, rather than to the spool; -1: none */
	bool (*go_on)(void *context); /* asked before each; NULL: to the end */
	void (*tell)(void *context, const struct recover_result *result); /* NULL: nobody asks */
	void *context;
};

/* Recover all in DIR, one by one, in the order of their names. One process at a time does so. Returns
 * how many reports were made, or -errno: -EBUSY while somebody else is at it. Any thread of ours. */
int recover_spool(int dir, const struct recover_how *how);

#endif
