/* The local reporter: each report is a file in a directory. */
#include "upload/local/local.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"
#include "upload/files/dir.h"
#include "upload/files/limit.h"
#include "upload/files/name.h"
#include "upload/files/oldest.h"
#include "upload/files/place.h"
#include "upload/files/temporary.h"

/* Where nobody named a directory nobody expects it to grow for long. */
#define DEFAULT_MAX_BYTES (256u << 20)

/* Other processes add to the directory too, so what it holds is looked up this often. */
#define LOOK_INTERVAL_NS 30000000000u

/* Names taken by other profiles of the same second. */
#define TRIES_MAX 1000

struct folder {
	char *path; /* absolute, for words and to open it anew; NULL: there is none */
	bool private;
	int dir;
	uint64_t max_bytes;  /* 0: keep all */
	uint64_t used_bytes; /* of the disk, when last looked, and by us since */
	uint64_t scanned_ns; /* 0: never */
};

struct local {
	struct reporter reporter;
	struct folder main,
		own;         /* the second is the user's, where the first cannot be written to */
	bool named;          /* by LOCAL_DIR */
	uint64_t max_age_ns; /* or OPTION_OFF */
	char *destination;
	int said; /* the failure that was said last; 0 after a success */
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

/* Neither DIR, what has come of opening it, nor the user's own directory can be written to, whoever this
 * process becomes, as in a container with a read-only root and no /tmp. */
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

/* One that is another user's may be this one's, or made for it, later; a profile comes before. */
static int memory_file_create_unlinked(struct folder *folder, const char *path)
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
	if (err < 0)
		log_error("cannot open " OPTION_PREFIX "LOCAL_DIR %s: %s", folder->path,
			  strerror(-err));
	return err < 0 ? err : 0;
}

/* True when the directory that a package or an administrator provides is there for us. */
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

/* QUIET where the same was said before. */
static int folder_open_private(struct folder *folder, bool quiet)
{
	folder->private = true;
	folder->dir = place_private(&folder->path);
	if (folder->dir < 0 && !quiet)
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

/* Give the file TEMPORARY the first name of REPORT that is free. */
static int temporary_rename(int dir, const char *temporary, const struct report *report,
			    char name[NAME_FILE_SIZE])
{
	int err = -EEXIST;

	for (unsigned int try = 0; err == -EEXIST && try < TRIES_MAX; try++) {
		name_file(name, report, NAME_PROFILE, try);
		err = dir_rename_new(dir, temporary, name);
	}
	return err;
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

/* Make room for MORE bytes within the limits. Looking through the directory costs with its size: so a
 * look makes room for some reports, and is not made for each, unless NOW. */
static void folder_enforce_limits(struct local *local, struct folder *folder, uint64_t more,
				  bool now)
{
	uint64_t now_ns = clock_monotonic_ns(), max = folder->max_bytes;
	bool unlimited = max == 0 || max == OPTION_OFF;

	if (unlimited && local->max_age_ns == OPTION_OFF)
		return;
	if (!now && folder->scanned_ns && now_ns - folder->scanned_ns < LOOK_INTERVAL_NS &&
	    (unlimited || folder->used_bytes + more <= max))
		return;
	if (unlimited)
		max = UINT64_MAX;
	else
		max = max > more ? max - more : 0;
	/* Failing here says itself soon enough, as a full disk. */
	if (!limit_directory(folder->dir, max, max - max / 32, local_age_limit(local),
			     &folder->used_bytes))
		folder->scanned_ns = now_ns;
}

/* The directory was removed; somebody cleaning up does not mean to end it all. */
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

static int put(struct local *local, struct folder *folder, const struct report *report)
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

/* The directory was another user's to write to, before the process became this one. ERR is what it
 * says. */
static int local_put_in_own(struct local *local, const struct report *report, int err)
{
	struct folder *own = &local->own;
	int own_err = own->path ? put(local, own, report) : -EACCES;

	/* The user may have changed again. */
	if (!error_is_forbidden(own_err))
		return own_err;
	folder_close(own);
	own->scanned_ns = own->used_bytes = 0;
	if (local->named ? folder_open_private(own, local->said)
			 : folder_open_default(own, local->said)) {
		folder_close(own);
		return err;
	}
	own_err = put(local, own, report);
	if (own_err) {
		/* Landlock keeps it from both. */
		folder_close(own);
		return error_is_forbidden(own_err) ? err : own_err;
	}
	log_warn("user %u cannot write in %s: %s; profiles go to %s instead%s", geteuid(),
		 local->main.path, strerror(-err), own->path,
		 local->named ? " (let that user own the first, as chown or a unit's "
				"StateDirectory= does)"
			      : "");
	return 0;
}

/* A cause is said once, until it is gone. */
static void local_log_result(struct local *local, int err)
{
	if (err && err != local->said)
		log_error("cannot write a profile in %s: %s", local->main.path, strerror(-err));
	if (!err && local->said)
		log_warn("profiles are written in %s again",
			 local->own.path ? local->own.path : local->main.path);
	local->said = err;
}

static int deliver(struct reporter *reporter, const struct report *report)
{
	struct local *local = (struct local *)reporter;
	int err = put(local, &local->main, report);

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

/* Containers have directories of one name that are not one. */
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
	local->reporter.deliver = deliver;
	local->reporter.close = local_close;
	local->named = config->local_dir;
	local->main.max_bytes = local->own.max_bytes = config->local_max_bytes;
	local->max_age_ns = config->local_max_age_ns;
	if (!config->local_max_bytes_set) {
		local->own.max_bytes = DEFAULT_MAX_BYTES;
		if (!local->named)
			local->main.max_bytes = DEFAULT_MAX_BYTES;
	}
	err = local->named ? memory_file_create_unlinked(&local->main, config->local_dir)
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
