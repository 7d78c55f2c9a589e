/* Target process of a command, pinned by a descriptor of /proc/PID. */
#include "decoder/live/target.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/text/auxv.h"

#define AUXV_MAX 65536

int target_read_fd(struct buf *text, int fd)
{
	int err = fd < 0 ? fd : buf_append_file(text, fd);

	if (fd >= 0)
		close(fd);
	return err ? err : buf_string(text) ? 0 : -ENOMEM;
}

int target_read_file(struct buf *text, const struct target *target, const char *name)
{
	return target_read_fd(text, target_open_file(target, name, O_RDONLY));
}

/* (The kernel escapes newlines in the process name.) */
const char *target_status_value(struct buf *text, const char *key)
{
	const char *at = strstr(buf_string(text), key);

	return at ? at + strlen(key) : "";
}

char target_status_state(struct buf *text)
{
	return *target_status_value(text, "\nState:\t");
}

int target_open_file(const struct target *target, const char *path, int flags)
{
	int fd = openat(target->dir, path, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

FILE *target_open_text(const struct target *target, const char *path)
{
	int fd = target_open_file(target, path, O_RDONLY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file && fd >= 0)
		close(fd);
	return file;
}

DIR *target_open_proc_directory(const struct target *target, const char *path)
{
	int fd = target_open_file(target, path, O_RDONLY | O_DIRECTORY);
	DIR *dir;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	dir = fdopendir(fd);
	if (!dir)
		close(fd);
	return dir;
}

bool maps_contain(FILE *maps, const char *text)
{
	bool found = false;
	char line[8192];

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, text);
	if (maps)
		fclose(maps);
	return found;
}

int target_open(struct target *target, pid_t pid)
{
	struct buf text = BUF_INIT(TARGET_STATUS_MAX);
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	*target = (struct target){ .pid = pid };
	target->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target->dir < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = target_read_file(&text, target, "status");
	/* /proc also contains threads, under their thread IDs. */
	if (err == -ENOENT || (!err && atoi(target_status_value(&text, "\nTgid:")) != pid))
		err = -ESRCH;
	buf_free(&text);
	if (err)
		target_close(target);
	return err;
}

void target_close(struct target *target)
{
	if (target->dir >= 0)
		close(target->dir);
	target->dir = -1;
}

/* AT_STATX_DONT_SYNC: the file system's server may be a process of that user, and might never answer. */
static bool file_read_identity(struct statx *identity, int dir, const char *path)
{
	return !statx(dir, path, AT_STATX_DONT_SYNC, STATX_INO, identity) &&
	       identity->stx_mask & STATX_INO;
}

bool target_is_stopped(const struct target *target)
{
	struct buf text = BUF_INIT(TARGET_STATUS_MAX);
	char state = 0;

	if (!target_read_file(&text, target, "status"))
		state = target_status_state(&text);
	buf_free(&text);
	return state == 'T' || state == 't';
}

int target_open_directory(const struct target *target, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int root = target_open_file(target, "root", O_PATH | O_DIRECTORY), fd;

	if (root < 0)
		return root;
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0 && errno == ENOSYS) /* before Linux 5.6; a link may lead out of that root */
		fd = openat(root, path + strspn(path, "/"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	close(root);
	return fd;
}

bool target_shares_link(const struct target *target, const char *name)
{
	struct statx theirs, ours;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/%s", name);
	return file_read_identity(&theirs, target->dir, name) &&
	       file_read_identity(&ours, AT_FDCWD, path) &&
	       theirs.stx_dev_major == ours.stx_dev_major &&
	       theirs.stx_dev_minor == ours.stx_dev_minor && theirs.stx_ino == ours.stx_ino;
}

/* ---- user ---- */

/* Parse the real, effective, saved and file system ID, which must be equal. */
static int status_parse_id(const char *text, unsigned *id)
{
	unsigned all[4];

	if (sscanf(text, "%u %u %u %u", &all[0], &all[1], &all[2], &all[3]) != 4)
		return -EPROTO;
	*id = all[0];
	return all[1] == all[0] && all[2] == all[0] && all[3] == all[0] ? 0 : -ENOTUNIQ;
}

static int status_parse_groups(struct target_user *user, const char *text)
{
	size_t length = strcspn(text, "\n");
	const char *end = text + length;

	user->groups = malloc((length / 2 + 1) * sizeof(*user->groups));
	if (!user->groups)
		return -ENOMEM;
	for (text += strspn(text, " \t"); text < end; text += strspn(text, " \t")) {
		char *next;

		user->groups[user->group_count++] = (gid_t)strtoul(text, &next, 10);
		if (next == text)
			return -EPROTO;
		text = next;
	}
	return 0;
}

/* Returns -ENOTUNIQ if the program gained privileges from its file when it was executed. */
static int target_check_secure(const struct target *target)
{
	struct buf auxv = BUF_INIT(AUXV_MAX);
	int err = target_read_file(&auxv, target, "auxv");
	uint64_t secure = 1;

	/* (The second one: a 32-bit program.) */
	if (!err && !auxv_find(&secure, auxv.data, auxv.length, sizeof(uint64_t), AT_SECURE) &&
	    !auxv_find(&secure, auxv.data, auxv.length, sizeof(uint32_t), AT_SECURE))
		secure = 1; /* unknown */
	buf_free(&auxv);
	return err ? err : secure ? -ENOTUNIQ : 0;
}

int target_user_read(struct target_user *user, const struct target *target)
{
	struct buf text = BUF_INIT(TARGET_STATUS_MAX);
	int err = target_read_file(&text, target, "status");

	*user = (struct target_user){ 0 };
	if (!err)
		err = target_check_secure(target);
	if (!err)
		err = status_parse_id(target_status_value(&text, "\nUid:"), &user->uid);
	if (!err)
		err = status_parse_id(target_status_value(&text, "\nGid:"), &user->gid);
	if (!err)
		err = status_parse_groups(user, target_status_value(&text, "\nGroups:"));
	if (!err &&
	    sscanf(target_status_value(&text, "\nCapEff:"), "%" SCNx64, &user->capabilities) != 1)
		err = -EPROTO;
	if (!err)
		user->seccomp = atoi(target_status_value(&text, "\nSeccomp:"));
	buf_free(&text);
	if (err)
		target_user_free(user);
	return err;
}

void target_user_free(struct target_user *user)
{
	free(user->groups);
	user->groups = NULL;
	user->group_count = 0;
}

static bool user_has_groups(const struct target_user *user, const gid_t *groups, size_t count)
{
	return count == user->group_count &&
	       (!count || !memcmp(groups, user->groups, count * sizeof(*groups)));
}

bool target_user_equals(const struct target_user *a, const struct target_user *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->capabilities == b->capabilities &&
	       a->seccomp == b->seccomp && user_has_groups(a, b->groups, b->group_count);
}

/* Whether this process is in the groups of USER. The kernel keeps the list sorted. */
static bool process_has_groups(const struct target_user *user)
{
	int count = getgroups(0, NULL);
	gid_t *groups = count < 0 ? NULL : calloc((size_t)count + 1, sizeof(*groups));
	bool is = groups && getgroups(count, groups) == count &&
		  user_has_groups(user, groups, (size_t)count);

	free(groups);
	return is;
}

/* Reduce this process's effective capabilities to those in WANTED. */
static int limit_capabilities(uint64_t wanted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return -errno;
	for (int i = 0; i < 2; i++) {
		data[i].effective &= (uint32_t)(wanted >> 32 * i);
		data[i].permitted = data[i].effective;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static int process_check_ids(const struct target_user *user)
{
	uid_t uid[3];
	gid_t gid[3];

	if (getresuid(&uid[0], &uid[1], &uid[2]) || getresgid(&gid[0], &gid[1], &gid[2]))
		return -errno;
	for (int i = 0; i < 3; i++)
		if (uid[i] != user->uid || gid[i] != user->gid)
			return -EPERM;
	return process_has_groups(user) ? 0 : -EPERM;
}

int target_user_become(const struct target_user *user)
{
	int err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0))
		return -errno;
	/* Fails before Linux 4.3, which has no ambient capabilities. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (!process_has_groups(user) && setgroups(user->group_count, user->groups))
		return -errno;
	if (setresgid(user->gid, user->gid, user->gid) ||
	    setresuid(user->uid, user->uid, user->uid))
		return -errno;
	err = limit_capabilities(user->capabilities);
	if (!err)
		err = process_check_ids(user);
	return err || !prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? err : -errno;
}
