/* Directories that the agent writes to: create, open and check. After the program has changed its root directory,
 * nothing is created: what is missing is -ENOENT. */
#ifndef UPLOAD_FILES_DIR_H
#define UPLOAD_FILES_DIR_H

#include <dirent.h>
#include <sys/types.h>

/* Open PATH. Create it and its missing parents with MODE (minus the umask). Returns a descriptor
 * above the program's (fd_raise()), or -errno. */
int dir_make(const char *path, mode_t mode);

/* Open the directory NAME in PARENT; create it with mode 0700 if it is missing. Only this user
 * may own or enter it.
 *
 * Returns a descriptor, or -errno:
 * * -ELOOP for a symbolic link;
 * * -ENOTDIR for another kind of file;
 * * -EPERM if another user owns it;
 * * -EACCES if other users may enter it. */
int dir_make_private(const char *parent, const char *name);

/* Open PATH; create it and its missing parents with mode 0700. Only this user and root may have
 * put files into the result.
 *
 * If others may write to PATH, the result is its subdirectory named by this user's number,
 * opened like dir_make_private(). Returns a descriptor, or -errno: -EPERM if another user owns
 * PATH. */
int dir_make_trusted(const char *path);

/* List the directory DIR with a new descriptor, so that listings do not share a position. Returns the
 * listing (release with closedir()), or NULL and sets *ERR to -errno. */
DIR *dir_list(int dir, int *err);

/* Rename FROM to TO in DIR, unless TO exists. Returns 0, -EEXIST or another -errno. */
int dir_rename_new(int dir, const char *from, const char *to);

#endif
