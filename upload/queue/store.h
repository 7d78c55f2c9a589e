/* Where reports wait until they are delivered. All calls are made under the queue's lock; what
 * was taken is read without it. */
#ifndef UPLOAD_QUEUE_STORE_H
#define UPLOAD_QUEUE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/report.h"
#include "upload/files/oldest.h"
#include "upload/queue/origin.h"

#define REPORTERS_MAX 4

/* Room for the names of those that only another process has. */
#define STORE_FOREIGN_MAX 4096

/* What waits for longer is dropped. */
#define STORE_AGE_MAX_MS (24ull * 3600 * 1000)

/* A report that was taken out to be delivered; the strings of REPORT point in here. */
struct held {
	struct report report;
	char executable[NAME_FILE_SIZE], engine[32], engine_version[64], group[512], tags[4096];
	unsigned int pending; /* a bit for each reporter that has yet to get it */
	/* Reporters that only other processes have, a NUL behind each; their bit is behind ours. */
	char foreign[STORE_FOREIGN_MAX];
	char *origin; /* malloc'd, as ALL_BEGUN; settle() frees them */
	/* How far each of ours is, as REPORT's for the one who took it; and what the note says of all; NULL: nothing. */
	struct report_begun begun[REPORTERS_MAX];
	struct report_begun taken; /* as it was when it was taken */
	char *all_begun;
	char version[ORIGIN_VERSION_MAX];

	struct store *store;
	uint64_t id;             /* the store's own */
	struct oldest_file file; /* in a directory */
};

struct store {
	/* Copy REPORT in, for the reporters PENDING. Where there is no room the oldest go, but for
	 * those that are being delivered. Returns 0 or -errno. */
	int (*put)(struct store *store, const struct report *report, unsigned int pending);

	/* Take the oldest that waits for BIT and that nobody else is delivering there. Returns 0
	 * (give it back with settle), -ENOENT, or another -errno. */
	int (*take)(struct store *store, unsigned int bit, struct held *out);

	/* Give it back; the reporters in DONE need it no more. */
	void (*settle)(struct store *store, struct held *held, unsigned int done);

	/* As struct reporter has it, for the reporters PENDING; NULL where nothing lasts. */
	int (*keep)(struct store *store, const struct report *whom, unsigned int pending,
		    struct running_files *files, struct buf *note);

	/* Where it lies, a descriptor of the caller's, or -errno; NULL likewise. */
	int (*dir)(struct store *store);

	void (*close)(struct store *store);

	bool lasts;                  /* beyond this process */
	size_t waiting;              /* reports that end with the process; 0 where it lasts */
	struct report_losses losses; /* "full", "aged" and their bytes; what waits now */
};

/* Keep reports in an unnamed memory file. */
int store_memory_open(struct store **out, uint64_t max_bytes);

/* Keep reports as files in DIR, made where it is missing: NAME.spool.jfr, with what else is known of
 * it in NAME.spool.json. They appear whole or not at all, and outlive the process: any of this user
 * that has the same directory may take them, each locked while it is delivered, if they wait for one
 * of its reporters: NAMES are these, in the order of their bits, as they name themselves to all
 * (struct reporter's destination).
 *
 * Others cannot put anything in: where they may write to DIR, a directory of this user's own below it
 * is used (dir_make_trusted()), and only plain files that this user owns are looked at. Where the
 * process changes its user, so does the store: it goes to where that user keeps his.
 *
 * Returns 0 or -errno, -EPERM where DIR is another user's. */
int store_spool_open(struct store **out, const char *dir, uint64_t max_bytes,
		     const char *const *names, unsigned int count);

#endif
