/* Private spool of `run`: make it, recover it, remove it. */
#include "decoder/commands/run_spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/options/config.h"
#include "decoder/output/message.h"
#include "profile/basics/text.h"
#include "upload/files/dir.h"
#include "upload/files/place.h"
#include "upload/files/temporary.h"
#include "upload/recover/recover.h"

#define LOCK_NAME "run.lock"

/* A directory without a lock file may be in the making until then. */
#define MAKING_SECONDS 60

/* The last processes of a group that was killed end soon after the command. */
#define END_WAITS   25
#define END_WAIT_NS 20000000

/* Open the directory that the local reporter writes to, or would write to. PATH receives its path. */
static int open_out(const struct config *config, char path[PATH_MAX])
{
	char *found = NULL;
	int fd;

	if (config->local_dir) {
		found = place_absolute(config->local_dir);
		fd = found ? dir_make(found, 0755) : -ENOMEM;
	} else if (!faccessat(AT_FDCWD, PLACE_SHARED, W_OK | X_OK, AT_EACCESS)) {
		found = strdup(PLACE_SHARED);
		fd = found ? dir_make(found, 0755) : -ENOMEM;
	} else {
		fd = place_private(&found);
	}
	snprintf(path, PATH_MAX, "%s", found ? found : "");
	free(found);
	return fd;
}

/* ---- Recovery ---- */

static void count_result(void *context, const struct recover_result *result)
{
	struct run_spool *spool = context;

	spool->recovered += result->outcome == RECOVER_MADE || result->made;
	spool->running += result->outcome == RECOVER_ALIVE;
	spool->waiting += result->outcome == RECOVER_WAITS;
}

/* Make profiles in OUT of what dead processes left in DIR. Returns false while another process recovers it. */
static bool recover_into(struct run_spool *spool, int dir, int out)
{
	const struct recover_how how = { .finished = true,
					 .destination = "local ",
					 .out = out,
					 .on_result = count_result,
					 .context = spool };

	spool->running = spool->waiting = 0;
	return recover_spool(dir, &how) != -EBUSY;
}

/* Remove the directory NAME in PARENT if only the lock file is in it. A temporary file of a killed process goes first, when
 * it is old. */
static void remove_empty(int parent, const char *name, int dir)
{
	int err;
	DIR *listing = dir_list(dir, &err);
	struct dirent *entry;
	bool empty = listing;

	while (empty && (entry = readdir(listing))) {
		if (temporary_is(entry->d_name))
			temporary_sweep(dir, entry->d_name);
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
			!strcmp(entry->d_name, LOCK_NAME);
	}
	if (listing)
		closedir(listing);
	if (!empty)
		return;
	unlinkat(dir, LOCK_NAME, 0);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* ---- Spools of ended runs ---- */

/* True if the `run` of the spool DIR has ended. *LOCK, -1 or a descriptor, keeps others away. */
static bool owner_has_ended(int dir, int *lock)
{
	struct stat st;

	*lock = openat(dir, LOCK_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (*lock >= 0)
		return !flock(*lock, LOCK_EX | LOCK_NB);
	return !fstat(dir, &st) && time(NULL) > st.st_mtime + MAKING_SECONDS;
}

static void recover_ended(struct run_spool *found, int parent, const char *name, int out)
{
	int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), lock = -1;
	struct stat st;

	if (dir >= 0 && !fstat(dir, &st) && st.st_uid == geteuid() && owner_has_ended(dir, &lock) &&
	    recover_into(found, dir, out))
		remove_empty(parent, name, dir);
	if (lock >= 0)
		close(lock);
	if (dir >= 0)
		close(dir);
}

static void recover_all_ended(const struct run_spool *spool, int parent, int out)
{
	struct run_spool found = { .recovered = 0 };
	int err;
	DIR *listing = dir_list(parent, &err);
	struct dirent *entry;

	while (listing && (entry = readdir(listing)))
		if (place_is_of_run(entry->d_name))
			recover_ended(&found, parent, entry->d_name, out);
	if (listing)
		closedir(listing);
	if (found.recovered)
		message_print("run: recovered %u profile%s of earlier programs in %s",
			      found.recovered, found.recovered == 1 ? "" : "s", spool->out);
}

/* ---- Processes of the command ---- */

/* A process can claim to have an environment of any size. */
#define ENVIRONMENT_MAX (4u << 20)

/* True if the environment of process PID, as it was at its start, has the line WANTED. */
static bool environment_has(int proc, const char *pid, const char *wanted)
{
	char path[NAME_MAX + sizeof("/environ")];
	struct buf lines = BUF_INIT(ENVIRONMENT_MAX);
	size_t length = strlen(wanted) + 1;
	const char *at, *end;
	bool found = false;
	int fd;

	snprintf(path, sizeof(path), "%s/environ", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	buf_append_file(&lines, fd); /* of a larger one, the first part */
	close(fd);
	at = (const char *)lines.data;
	end = at + lines.length;
	while (!found && at && (size_t)(end - at) >= length) {
		found = !memcmp(at, wanted, length);
		at = memchr(at, '\0', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	buf_free(&lines);
	return found;
}

static unsigned count_processes_once(const char *wanted)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	unsigned count = 0;

	while (proc && (entry = readdir(proc)))
		if (*entry->d_name >= '1' && *entry->d_name <= '9')
			count += environment_has(dirfd(proc), entry->d_name, wanted);
	if (proc)
		closedir(proc);
	return count;
}

/* Count the processes that were started with SPOOL. Those within START_DELAY have no file in it yet. A process may fork
 * and end after the directory listing was read: the second one contains its child. */
static unsigned count_processes(const struct run_spool *spool)
{
	char wanted[PATH_MAX + 64];
	unsigned count;

	snprintf(wanted, sizeof(wanted), OPTION_PREFIX "SPOOL_DIR=%s", spool->path);
	count = count_processes_once(wanted);
	return count ? count : count_processes_once(wanted);
}

/* Recover SPOOL into OUT. Returns false while another process recovers it or processes still use it. */
static bool recover_own(struct run_spool *spool, int dir, int out)
{
	bool done = recover_into(spool, dir, out);
	unsigned processes = count_processes(spool);

	if (spool->running < processes)
		spool->running = processes;
	return done && !spool->running;
}

/* ---- The spool of this run ---- */

/* Make the spool in the directory PARENT, whose path is PATH. Returns true, or false if that is impossible. */
static bool make_in(struct run_spool *spool, int parent, const char *path, int out)
{
	int dir;

	recover_all_ended(spool, parent, out);
	if ((size_t)snprintf(spool->path, PATH_MAX, "%s/" PLACE_RUN_PREFIX "XXXXXX", path) >=
		    PATH_MAX ||
	    !mkdtemp(spool->path)) {
		*spool->path = '\0';
		return false;
	}
	dir = open(spool->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	spool->lock = openat(dir, LOCK_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (spool->lock >= 0 && !flock(spool->lock, LOCK_EX | LOCK_NB) &&
	    !setenv(OPTION_PREFIX "SPOOL_DIR", spool->path, 1)) {
		close(dir);
		return true;
	}
	remove_empty(parent, text_base_name(spool->path), dir);
	*spool->path = '\0';
	close(dir);
	return false;
}

static void make_anywhere(struct run_spool *spool, const struct config *config)
{
	char *path = NULL;
	int out = open_out(config, spool->out), own;

	if (out < 0)
		return;
	if (!make_in(spool, out, spool->out, out)) {
		own = place_private(&path);
		if (own >= 0)
			make_in(spool, own, path, out);
		if (own >= 0)
			close(own);
		free(path);
	}
	close(out);
}

void run_spool_open(struct run_spool *spool)
{
	struct config config;
	char problem[OPTION_PROBLEM_MAX];

	*spool = (struct run_spool){ .lock = -1 };
	if (config_read(&config, environ, problem))
		return;
	/* That of an outer `run` is not the user's. */
	if (config.enabled && !place_capture(&config, environ) &&
	    (!config.spool_dir || place_is_of_run(config.spool_dir)))
		make_anywhere(spool, &config);
	config_free(&config);
}

void run_spool_close(struct run_spool *spool)
{
	const struct timespec pause = { .tv_nsec = END_WAIT_NS };
	char parent_path[PATH_MAX];
	int dir, parent, out;

	if (!*spool->path)
		return;
	unsetenv(OPTION_PREFIX "SPOOL_DIR");
	snprintf(parent_path, sizeof(parent_path), "%s", spool->path);
	*strrchr(parent_path, '/') = '\0';
	parent = open(parent_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = open(spool->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	out = open(spool->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out >= 0 && dir >= 0)
		for (int i = 0; !recover_own(spool, dir, out) && i < END_WAITS; i++)
			nanosleep(&pause, NULL);
	if (parent >= 0 && dir >= 0 && !spool->running)
		remove_empty(parent, text_base_name(spool->path), dir);
	for (size_t i = 0; i < 4; i++) {
		int fd = (const int[]){ parent, dir, out, spool->lock }[i];

		if (fd >= 0)
			close(fd);
	}
}
