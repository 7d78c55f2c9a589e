/* Target process of a command. It is pinned, so it cannot be confused with a later process with the same PID. */
#ifndef DECODER_LIVE_TARGET_H
#define DECODER_LIVE_TARGET_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "core/buf.h"

struct target {
	pid_t pid;
	int dir; /* descriptor of /proc/PID; each access fails after the process has ended */
};

/* Pin process PID. Returns 0 (release with target_close), -ESRCH if it does not exist, or another -errno. */
int target_open(struct target *target, pid_t pid);
void target_close(struct target *target);

/* Open PATH below /proc/PID, like "status". Returns a descriptor or -errno. */
int target_open_file(const struct target *target, const char *path, int flags);

/* Open a text or a directory below /proc/PID. These return NULL with errno set. */
FILE *target_open_text(const struct target *target, const char *path);
DIR *target_open_proc_directory(const struct target *target, const char *path);

/* True if a line of MAPS, like /proc/PID/maps, contains TEXT. Closes MAPS, which may be NULL. */
bool maps_contain(FILE *maps, const char *text);

/* Limit for the text of a status file: a process may have 65,536 groups. */
#define TARGET_STATUS_MAX (1u << 20)

/* Append the file NAME of /proc/PID, or the rest of FD, to TEXT, which buf_string() then has. FD, which may be -errno, is
 * closed. Returns 0 or -errno. */
int target_read_file(struct buf *text, const struct target *target, const char *name);
int target_read_fd(struct buf *text, int fd);

/* The value of KEY, like "\nUid:", in TEXT of a status file, up to the end of TEXT; "" if it is missing. */
const char *target_status_value(struct buf *text, const char *key);

/* The state in TEXT of a status file, like 'S'; 0 if it is missing. Source: proc_pid_status(5). */
char target_status_state(struct buf *text);

/* True if a signal, or a debugger, has stopped the process. */
bool target_is_stopped(const struct target *target);

/* Open a directory of the process. Links in PATH are resolved within its root directory (from Linux 5.6 on). Returns a
 * descriptor with O_PATH, or -errno. */
int target_open_directory(const struct target *target, const char *path);

/* Whether the link NAME in /proc/PID, like "root" or "ns/net", refers to the same object as this process's link. */
bool target_shares_link(const struct target *target, const char *name);

/* Credentials of a process. */
struct target_user {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* malloc'd */
	size_t group_count;
	uint64_t capabilities; /* effective, in its user namespace */
	int seccomp;           /* mode */
};

/* Read the credentials of TARGET.
 * Returns 0 (release with target_user_free); -ENOTUNIQ if its environment may be another user's; or another -errno. It
 * may be if the real, effective, saved and file system IDs differ, or if executing the file granted privileges. */
int target_user_read(struct target_user *user, const struct target *target);
void target_user_free(struct target_user *user);
bool target_user_equals(const struct target_user *a, const struct target_user *b);

/* Give the calling process, which must have one thread, the credentials of USER: IDs, groups, no new privileges, and
 * those of its capabilities that USER has. It becomes undumpable, so other processes of USER cannot inspect it.
 * Returns 0 or -errno. After an error the process has partly changed credentials and must exit. */
int target_user_become(const struct target_user *user);

#endif
