/* Local reporter: each report becomes a file in a directory. */
#include "upload/local/local.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/agent/files_removed.h"
#include "core/clock.h"
#include "core/executable.h"
#include "core/fd.h"
#include "core/log.h"
#include "upload/files/dir.h"
#include "upload/files/limit.h"
#include "upload/files/name.h"
#include "upload/files/oldest.h"
#include "upload/files/place.h"
#include "upload/files/temporary.h"

/* Limit of a directory that no setting names. */
#define DEFAULT_MAX_BYTES (256u << 20)

/* Interval between scans of the directory: other processes add files, too. */
#define SCAN_INTERVAL_NS 30000000000u

struct folder {
	char *path; /* absolute, for messages and to reopen; NULL: none */
	bool private;
	int dir;
	uint64_t max_bytes;  /* 0: unlimited */
	uint64_t used_bytes; /* on disk: of the last scan plus later reports */
	uint64_t scanned_ns; /* time of the last scan; 0: none */
};

struct local {
	struct reporter reporter;
	struct folder main, own; /* for this user, if MAIN is not writable */
	bool is_named;           /* LOCAL_DIR is set */
	uint64_t max_age_ns;     /* or OPTION_OFF */
	char *destination;
	int logged_error; /* the last logged error; 0 after a success */
};

static void folder_close(struct folder *folder)
{
	if (folder->path && folder->dir >= 0)
		close(folder->dir);
	free(folder->path);
	folder->path = NULL;
}

static void local_free(struct local *local)
{
	if (!local)
		return;
	folder_close(&local->main);
	folder_close(&local->own);
	free(local->destination);
	free(local);
}

static bool error_is_forbidden(int err)
{
	return err == -EACCES || err == -EPERM || err == -EROFS;
}

/* DIR is the descriptor or error of the configured directory. True if neither it nor the user's
 * own directory is on a writable file system. The user does not matter. An example is a
 * container with a read-only root and no /tmp. */
static bool local_is_read_only(int dir)
{
	struct folder own = { .path = NULL };
	bool alone;

	if (dir >= 0)
		dir = faccessat(dir, ".", W_OK, AT_EACCESS) ? -errno : 0;
	if (dir != -EROFS)
		return false;
	own.dir = place_private(&own.path);
	alone = own.dir < 0;
	folder_close(&own);
	return alone;
}

/* True if ERR means that a sandbox has removed the directory. */
static bool process_has_no_files(int err)
{
	return err == -ESRCH || (err == -ENOENT && files_are_removed());
}

/* True if the agent has not created the directory because the program has changed its root; that is logged. */
static bool folder_is_outside(const struct folder *folder, int err)
{
	if (err != -ENOENT || !folder->path || !process_root_has_changed())
		return false;
	log_warn("%s does not exist in the program's new root directory; it gets no profiles of "
		 "this process",
		 folder->path);
	return true;
}

/* If another user owns the directory, it is opened again for each profile: the owner or the
 * process's user may change. */
static int local_open_named(struct folder *folder, const char *path)
{
	int err;

	folder->path = place_absolute(path);
	if (!folder->path)
		return -ENOMEM;
	folder->dir = err = dir_make(folder->path, 0755);
	if (local_is_read_only(folder->dir))
		err = -EROFS;
	else if (error_is_forbidden(err))
		return 0;
	if (process_has_no_files(err))
		log_info("the program has given up access to files; %s gets no profiles of this "
			 "process",
			 folder->path);
	else if (err < 0 && !folder_is_outside(folder, err))
		log_error("cannot open " OPTION_PREFIX "LOCAL_DIR %s: %s", folder->path,
			  strerror(-err));
	return err < 0 ? err : 0;
}

/* True if a package or administrator provides a directory that is writable. */
static bool folder_open_shared(struct folder *folder)
{
	int fd = fd_raise(open(PLACE_SHARED, O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	if (fd < 0)
		return false;
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS)) {
		close(fd);
		return false;
	}
	folder->dir = fd;
	return true;
}

/* QUIET: the error was logged before. */
static int folder_open_private(struct folder *folder, bool quiet)
{
	folder->private = true;
	folder->dir = place_private(&folder->path);
	if (folder->dir < 0 && !quiet && !process_has_no_files(folder->dir) &&
	    !folder_is_outside(folder, folder->dir))
		log_error("cannot keep profiles in %s: %s; set " OPTION_PREFIX "LOCAL_DIR",
			  folder->path ? folder->path : "a directory",
			  place_error_text(folder->dir));
	return folder->dir < 0 ? folder->dir : 0;
}

static int folder_open_default(struct folder *folder, bool quiet)
{
	if (!folder_open_shared(folder))
		return folder_open_private(folder, quiet);
	folder->private = false;
	folder->path = strdup(PLACE_SHARED);
	return folder->path ? 0 : -ENOMEM;
}

static int local_write_report(int dir, const struct report *report, char name[NAME_FILE_SIZE])
{
	char temporary[NAME_FILE_SIZE];
	int fd, err;

	fd = temporary_create(dir, 0644, temporary);
	if (fd < 0)
		return fd;
	err = temporary_close(dir, temporary, fd, report_write(report, fd));
	if (err)
		return err;
	err = temporary_rename(dir, temporary, report, name);
	if (err)
		unlinkat(dir, temporary, 0);
	return err;
}

static int64_t local_age_limit(const struct local *local)
{
	uint64_t now = clock_realtime_ns();

	if (local->max_age_ns == OPTION_OFF || local->max_age_ns > now)
		return INT64_MIN;
	return (int64_t)((now - local->max_age_ns) / 1000000000u);
}

/* Make room for MORE bytes within the limits. A scan costs time in proportion to the directory's
 * size. So each scan makes room for several reports; NOW forces one. */
static void folder_enforce_limits(struct local *local, struct folder *folder, uint64_t more,
				  bool now)
{
	uint64_t now_ns = clock_monotonic_ns(), max = folder->max_bytes;
	bool unlimited = max == 0 || max == OPTION_OFF;

	if (unlimited && local->max_age_ns == OPTION_OFF)
		return;
	if (!now && folder->scanned_ns && now_ns - folder->scanned_ns < SCAN_INTERVAL_NS &&
	    (unlimited || folder->used_bytes + more <= max))
		return;
	if (unlimited)
		max = UINT64_MAX;
	else
		max = max > more ? max - more : 0;
	/* An error here shows up soon as a full disk. */
	if (!limit_directory(folder->dir, max, max - max / 32, local_age_limit(local),
			     &folder->used_bytes))
		folder->scanned_ns = now_ns;
}

/* The directory was deleted, probably by a cleanup. Create it again. */
static int folder_reopen(struct folder *folder)
{
	char *path = NULL;
	int dir = folder->private ? place_private(&path) : dir_make(folder->path, 0755);

	if (dir < 0) {
		free(path);
		return dir;
	}
	if (folder->dir >= 0)
		close(folder->dir);
	folder->dir = dir;
	if (path) {
		free(folder->path);
		folder->path = path;
	}
	return 0;
}

static int folder_put(struct local *local, struct folder *folder, const struct report *report)
{
	uint64_t more = oldest_blocks(report_length(report));
	char name[NAME_FILE_SIZE];
	int err = folder->dir < 0 ? folder_reopen(folder) : 0;

	if (err)
		return err;
	folder_enforce_limits(local, folder, more, false);
	err = local_write_report(folder->dir, report, name);
	if (err == -ENOSPC || err == -EDQUOT) {
		folder_enforce_limits(local, folder, more, true);
		err = local_write_report(folder->dir, report, name);
	}
	if (err == -ENOENT) {
		err = folder_reopen(folder);
		if (!err)
			err = local_write_report(folder->dir, report, name);
	}
	if (err)
		return err;
	folder->used_bytes += more;
	log_debug("wrote %s/%s, %" PRIu64 " bytes", folder->path, name, report_length(report));
	return 0;
}

/* The process changed its user, which cannot write to the main directory. ERR is that error. */
static int local_put_in_own(struct local *local, const struct report *report, int err)
{
	struct folder *own = &local->own;
	int own_err = own->path ? folder_put(local, own, report) : -EACCES;

	/* The user may have changed again. */
	if (!error_is_forbidden(own_err))
		return own_err;
	folder_close(own);
	own->scanned_ns = own->used_bytes = 0;
	if (local->is_named ? folder_open_private(own, local->logged_error)
			    : folder_open_default(own, local->logged_error)) {
		folder_close(own);
		return err;
	}
	own_err = folder_put(local, own, report);
	if (own_err) {
		/* Landlock denies both directories. */
		folder_close(own);
		return error_is_forbidden(own_err) ? err : own_err;
	}
	log_warn("user %u cannot write in %s: %s; profiles go to %s instead%s", geteuid(),
		 local->main.path, strerror(-err), own->path,
		 local->is_named ? " (change the owner of the first by chown or a unit's "
				   "StateDirectory=)"
				 : "");
	return 0;
}

/* Log an error once, until a delivery succeeds. */
static void local_log_result(struct local *local, int err)
{
	if (err && err != local->logged_error && !process_has_no_files(err))
		log_error("cannot write a profile in %s: %s", local->main.path, strerror(-err));
	if (!err && local->logged_error)
		log_warn("profiles are written in %s again",
			 local->own.path ? local->own.path : local->main.path);
	local->logged_error = err;
}

static int local_deliver(struct reporter *reporter, const struct report *report)
{
	struct local *local = (struct local *)reporter;
	int err = folder_put(local, &local->main, report);

	if (error_is_forbidden(err))
		err = local_put_in_own(local, report, err);
	else if (!err)
		folder_close(&local->own);
	local_log_result(local, err);
	return err;
}

static void local_close(struct reporter *reporter)
{
	local_free((struct local *)reporter);
}

/* Add the inode: directories of different containers may have the same path. */
static int local_set_destination(struct local *local)
{
	struct stat st = { 0 };

	fstat(local->main.dir, &st);
	if (asprintf(&local->destination, "local %s %llu", local->main.path,
		     (unsigned long long)st.st_ino) < 0)
		local->destination = NULL;
	local->reporter.destination = local->destination;
	return local->destination ? 0 : -ENOMEM;
}

int local_reporter_open(struct reporter **out, const struct config *config)
{
	struct local *local;
	int err;

	local = calloc(1, sizeof(*local));
	if (!local)
		return -ENOMEM;
	local->reporter.name = "local";
	local->reporter.deliver = local_deliver;
	local->reporter.close = local_close;
	local->is_named = config->local_dir;
	local->main.max_bytes = local->own.max_bytes = config->local_max_bytes;
	local->max_age_ns = config->local_max_age_ns;
	if (!config->local_max_bytes_set) {
		local->own.max_bytes = DEFAULT_MAX_BYTES;
		if (!local->is_named)
			local->main.max_bytes = DEFAULT_MAX_BYTES;
	}
	err = local->is_named ? local_open_named(&local->main, config->local_dir)
			      : folder_open_default(&local->main, false);
	if (!err)
		err = local_set_destination(local);
	if (err) {
		local_free(local);
		return err;
	}
	*out = &local->reporter;
	return 0;
}
