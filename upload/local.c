/* The local reporter: each report is a file in a directory. */
#include "upload/local.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"
#include "upload/dir.h"
#include "upload/limit.h"
#include "upload/name.h"
#include "upload/temporary.h"

#define SHARED_DIRECTORY "/var/lib/asprof-agent"

/* Where nobody named a directory nobody expects it to grow for long. */
#define UNASKED_MAX_BYTES (256u << 20)

/* Other processes add to the directory too, so what it holds is looked up this often. */
#define LOOK_INTERVAL_NS 30000000000u

/* Names taken by other profiles of the same second. */
#define TRIES_MAX 1000

struct local {
	struct reporter reporter;
	char *path;           /* absolute, for words and to open it anew */
	char *private_parent; /* NULL: a directory that others may use too */
	int dir;
	uint64_t max_bytes;  /* 0: keep all */
	uint64_t max_age_ns; /* or OPTION_OFF */

	uint64_t held_bytes; /* in the directory, when last looked, and by us since */
	uint64_t looked_ns;  /* 0: never */
	int said;            /* the failure that was said last; 0 after a success */
};

static void local_free(struct local *local)
{
	if (!local)
		return;
	if (local->dir >= 0)
		close(local->dir);
	free(local->path);
	free(local->private_parent);
	free(local);
}

/* Where the directory lies, see local_capture(); NULL: not noted, or not needed. */
static char *captured;

static const char *find_parent(char *const *environment)
{
	static const char name[] = "TMPDIR=";

	for (; *environment; environment++)
		if (!strncmp(*environment, name, strlen(name)) && (*environment)[strlen(name)])
			return *environment + strlen(name);
	return "/tmp";
}

int local_capture(const struct config *config, char *const *environment)
{
	const char *where = NULL;
	char cwd[PATH_MAX];

	if (!config->local_dir)
		where = find_parent(environment);
	else if (config->local_dir[0] != '/')
		where = getcwd(cwd, sizeof(cwd));
	free(captured);
	captured = where ? strdup(where) : NULL;
	return where && !captured ? -ENOMEM : 0;
}

static char *absolute(const char *path)
{
	char *joined;

	if (path[0] == '/' || !captured)
		return strdup(path);
	return asprintf(&joined, "%s/%s", captured, path) < 0 ? NULL : joined;
}

static int open_named(struct local *local, const char *path)
{
	local->path = absolute(path);
	if (!local->path)
		return -ENOMEM;
	local->dir = dir_make(local->path, 0755);
	if (local->dir < 0)
		log_error("cannot open " OPTION_PREFIX "LOCAL_DIR %s: %s", local->path,
			  strerror(-local->dir));
	return local->dir < 0 ? local->dir : 0;
}

/* True when the directory that a package or an administrator provides is there for us. */
static bool open_shared(struct local *local)
{
	int fd = fd_raise(open(SHARED_DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	if (fd < 0)
		return false;
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS)) {
		close(fd);
		return false;
	}
	local->dir = fd;
	return true;
}

static const char *why_not_private(int err)
{
	switch (err) {
	case -ELOOP:
		return "it is a symbolic link";
	case -EPERM:
		return "it belongs to another user";
	case -EACCES:
		return "other users have access to it, or this one has none (chmod 700 would mend "
		       "the first)";
	default:
		return strerror(-err);
	}
}

static int private_dir(const struct local *local)
{
	return dir_make_private(local->private_parent, strrchr(local->path, '/') + 1);
}

static int open_private(struct local *local)
{
	local->private_parent = strdup(captured ? captured : "/tmp");
	if (!local->private_parent ||
	    asprintf(&local->path, "%s/asprof-agent-%u", local->private_parent, geteuid()) < 0) {
		local->path = NULL;
		return -ENOMEM;
	}
	local->dir = private_dir(local);
	if (local->dir < 0)
		log_error("cannot keep profiles in %s: %s; set " OPTION_PREFIX "LOCAL_DIR",
			  local->path, why_not_private(local->dir));
	return local->dir < 0 ? local->dir : 0;
}

static int open_unasked(struct local *local)
{
	if (!open_shared(local))
		return open_private(local);
	local->path = strdup(SHARED_DIRECTORY);
	return local->path ? 0 : -ENOMEM;
}

/* Give the file TEMPORARY the first name of REPORT that is free. */
static int name_it(int dir, const char *temporary, const struct report *report,
		   char name[NAME_FILE_SIZE])
{
	int err = -EEXIST;

	for (unsigned int try = 0; err == -EEXIST && try < TRIES_MAX; try++) {
		name_file(name, report, try);
		err = dir_rename_new(dir, temporary, name);
	}
	return err;
}

static int write_report(int dir, const struct report *report, char name[NAME_FILE_SIZE])
{
	char temporary[NAME_FILE_SIZE];
	int fd, err;

	fd = temporary_create(dir, 0644, temporary);
	if (fd < 0)
		return fd;
	err = temporary_close(dir, temporary, fd, report_write(report, fd));
	if (err)
		return err;
	err = name_it(dir, temporary, report, name);
	if (err)
		unlinkat(dir, temporary, 0);
	return err;
}

static int64_t oldest_to_keep(const struct local *local)
{
	uint64_t now = clock_realtime_ns();

	if (local->max_age_ns == OPTION_OFF || local->max_age_ns > now)
		return INT64_MIN;
	return (int64_t)((now - local->max_age_ns) / 1000000000u);
}

/* Looking through the directory costs with its size: so a look makes room for some reports, and
 * is not made for each. */
static void keep_limits(struct local *local, const struct report *report, const char *name)
{
	uint64_t now = clock_monotonic_ns(), max = local->max_bytes;
	bool unlimited = max == 0 || max == OPTION_OFF;

	if (unlimited && local->max_age_ns == OPTION_OFF)
		return;
	local->held_bytes += report_length(report);
	if (local->looked_ns && now - local->looked_ns < LOOK_INTERVAL_NS &&
	    (unlimited || local->held_bytes <= max))
		return;
	/* Failing here says itself soon enough, as a full disk. */
	if (unlimited)
		max = UINT64_MAX;
	if (!limit_directory(local->dir, max, max - max / 32, oldest_to_keep(local), name,
			     &local->held_bytes))
		local->looked_ns = now;
}

/* A cause is said once, until it is gone. */
static void say(struct local *local, int err)
{
	if (err && err != local->said)
		log_error("cannot write a profile in %s: %s", local->path, strerror(-err));
	if (!err && local->said)
		log_warn("profiles are written in %s again", local->path);
	local->said = err;
}

/* The directory was removed; somebody cleaning up does not mean to end it all. */
static int reopen(struct local *local)
{
	int dir = local->private_parent ? private_dir(local) : dir_make(local->path, 0755);

	if (dir < 0)
		return dir;
	close(local->dir);
	local->dir = dir;
	return 0;
}

static int deliver(struct reporter *reporter, const struct report *report)
{
	struct local *local = (struct local *)reporter;
	char name[NAME_FILE_SIZE];
	int err;

	err = write_report(local->dir, report, name);
	if (err == -ENOENT) {
		err = reopen(local);
		if (!err)
			err = write_report(local->dir, report, name);
	}
	say(local, err);
	if (err)
		return err;
	log_debug("wrote %s/%s, %" PRIu64 " bytes", local->path, name, report_length(report));
	keep_limits(local, report, name);
	return 0;
}

static void close_local(struct reporter *reporter)
{
	local_free((struct local *)reporter);
}

int local_reporter_open(struct reporter **out, const struct config *config)
{
	struct local *local;
	int err;

	local = calloc(1, sizeof(*local));
	if (!local)
		return -ENOMEM;
	local->dir = -1;
	local->reporter.name = "local";
	local->reporter.deliver = deliver;
	local->reporter.close = close_local;
	local->max_bytes = config->local_max_bytes;
	local->max_age_ns = config->local_max_age_ns;
	if (!config->local_dir && !config->local_max_bytes_set)
		local->max_bytes = UNASKED_MAX_BYTES;

	err = config->local_dir ? open_named(local, config->local_dir) : open_unasked(local);
	if (err) {
		local_free(local);
		return err;
	}
	*out = &local->reporter;
	return 0;
}
