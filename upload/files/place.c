/* Paths of the directories that the settings name. */
#include "upload/files/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "upload/files/dir.h"

static struct {
	uid_t user;      /* of the process when TMPDIR was saved */
	char *temporary; /* NULL: /tmp */
	char *working;   /* NULL: not needed or not available */
} captured;

bool place_is_of_run(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, PLACE_RUN_PREFIX, strlen(PLACE_RUN_PREFIX));
}

static const char *place_find_tmpdir(char *const *environment)
{
	static const char name[] = "TMPDIR=";

	for (; *environment; environment++)
		if (!strncmp(*environment, name, strlen(name)) && (*environment)[strlen(name)])
			return *environment + strlen(name);
	return NULL;
}

static bool place_is_relative(const char *path)
{
	return path && path[0] != '/';
}

static int place_set_text(char **out, const char *text)
{
	free(*out);
	*out = text ? strdup(text) : NULL;
	return text && !*out ? -ENOMEM : 0;
}

/* A separate function, so that only this path uses PATH_MAX bytes of stack. */
static __attribute__((noinline)) int place_capture_working(void)
{
	char cwd[PATH_MAX];

	return place_set_text(&captured.working, getcwd(cwd, sizeof(cwd)));
}

int place_capture(const struct config *config, char *const *environment)
{
	int err = place_set_text(&captured.temporary, place_find_tmpdir(environment));

	captured.user = geteuid();
	if (!err && (place_is_relative(config->local_dir) || place_is_relative(config->spool_dir)))
		err = place_capture_working();
	return err;
}

char *place_absolute(const char *path)
{
	char *joined;

	if (path[0] == '/' || !captured.working)
		return strdup(path);
	return asprintf(&joined, "%s/%s", captured.working, path) < 0 ? NULL : joined;
}

static int place_open_private(const char *parent, char **path)
{
	if (asprintf(path, "%s/asprof-agent-%u", parent, geteuid()) < 0) {
		*path = NULL;
		return -ENOMEM;
	}
	return dir_make_private(parent, strrchr(*path, '/') + 1);
}

/* A service starts as root and changes its user; root's TMPDIR may not be writable then. */
int place_private(char **path)
{
	const char *parent = captured.temporary ? captured.temporary : "/tmp";
	int fd = place_open_private(parent, path), second;
	char *other;

	if (fd >= 0 || !*path || geteuid() == captured.user ||
	    !faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS))
		return fd;
	second = place_open_private("/tmp", &other);
	if (second < 0) {
		free(other);
		return fd;
	}
	free(*path);
	*path = other;
	return second;
}

const char *place_error_text(int err)
{
	switch (err) {
	case -ELOOP:
		return "it is a symbolic link";
	case -EPERM:
		return "it belongs to another user";
	case -EACCES:
		return "other users have access to it (chmod 700 removes that), or this user has "
		       "none";
	default:
		return strerror(-err);
	}
}
