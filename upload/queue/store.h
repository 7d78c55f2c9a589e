/* Store of reports that wait for delivery. Callers hold the queue's lock; the content of a taken
 * report is read without it. */
#ifndef UPLOAD_QUEUE_STORE_H
#define UPLOAD_QUEUE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/report.h"
#include "core/shared.h"
#include "upload/files/oldest.h"
#include "upload/queue/origin.h"

struct cJSON;

/* Older reports are dropped. */
#define STORE_AGE_MAX_MS (24ull * 3600 * 1000)

/* A report taken out for delivery; the strings of REPORT point into this struct, or into the store, which
 * keeps them until settle(). */
struct stored_report {
	struct report report;
	char executable[NAME_FILE_SIZE], engine[32], engine_version[64], group[512], tags[4096];
	/* A bit for each reporter that has not delivered it yet. Reporters of other processes share
	 * the bit that follows the bits of this process. */
	unsigned int pending;
	/* Progress of each reporter of this process. REPORT's begun points to the entry of the
	 * reporter that took it. */
	struct report_begun begun[REPORTERS_MAX];
	struct report_begun taken; /* the progress when it was taken */
	struct cJSON *note;        /* as it was read; NULL: none. settle() frees it and ORIGIN */
	char *origin;              /* malloc'd */
	char version[ORIGIN_VERSION_MAX], host[ORIGIN_HOST_MAX];

	struct store *store;
	uint64_t id;             /* assigned by the store */
	struct oldest_file file; /* in a directory */
};

/* Position of a report in the order of waiting reports. */
struct store_mark {
	struct store *store; /* NULL: no mark */
	uint64_t id;
	struct oldest_file file;
};

struct store {
	/* Copy REPORT for the reporters PENDING. Without room the oldest reports are dropped,
	 * except those in delivery. Returns 0 or -errno. */
	int (*put)(struct store *store, const struct report *report, unsigned int pending);

	/* Take the oldest report that waits for BIT and that no other thread or process is
	 * delivering. With AFTER, a mark of this store, take the oldest report after it. Returns
	 * 0 (give it back with settle), -ENOENT or another -errno. */
	int (*take)(struct store *store, unsigned int bit, const struct store_mark *after,
		    struct stored_report *out);

	/* Give the report back; the reporters in DONE no longer need it. */
	void (*settle)(struct store *store, struct stored_report *held, unsigned int done);

	/* Create the files of a running recording for the reporters PENDING, as
	 * create_running_files() of struct reporter does. NULL: this store ends with the process. */
	int (*keep)(struct store *store, const struct report *report, unsigned int pending,
		    struct running_files *files, struct buf *note);

	/* A new descriptor of the directory, which the caller closes, or -errno. NULL: the store
	 * has none. */
	int (*dir)(struct store *store);

	void (*close)(struct store *store);

	bool is_persistent;          /* reports outlive this process */
	size_t waiting;              /* reports that end with the process; 0 if is_persistent */
	struct report_losses losses; /* "full", "aged" and their bytes; bytes that wait now */
};

/* Store in an unnamed memory file. Returns 0 or -errno. */
int store_memory_open(struct store **out, uint64_t max_bytes);

/* Cause and correction of -ENOLCK. */
#define STORE_SPOOL_NO_LOCKS                                                              \
	"its file system refuses locks (flock); mount it with locks, or use a directory " \
	"on a local disk"

/* Store in files of DIR, created if it is missing: the recording NAME.spool.jfr and its note
 * NAME.spool.json. Files appear complete or not at all, and outlive the process.
 *
 * Processes of one user may share DIR. Each takes any report that waits for one of its
 * reporters, and locks it during delivery. NAMES are these reporters in the order of their bits,
 * as in struct reporter's destination.
 *
 * Other users cannot add reports. If they may write to DIR, its private subdirectory is used
 * (dir_make_trusted()). Only regular files of this user are read. If the process changes its
 * user, the store moves to the directory of the new user.
 *
 * Returns 0 or -errno: -EPERM if another user owns DIR, -ENOLCK if its files cannot be locked. */
int store_spool_open(struct store **out, const char *dir, uint64_t max_bytes,
		     const char *const *names, unsigned int count);

#endif
