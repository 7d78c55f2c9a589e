/* Directories that the agent writes to: made, opened and checked. */
#ifndef UPLOAD_FILES_DIR_H
#define UPLOAD_FILES_DIR_H

#include <sys/types.h>

/* Open PATH, making it and its missing parents with MODE (less the umask). Returns a
 * descriptor as fd_raise() gives it, or -errno. */
int dir_make(const char *path, mode_t mode);

/* Open the directory NAME inside of PARENT, making it with mode 0700, as one that nobody but
 * this user can have touched: -ELOOP for a link, -ENOTDIR for another file, -EPERM when it is
 * somebody else's, -EACCES when others may enter it. */
int dir_make_private(const char *parent, const char *name);

/* Open PATH, making it and its missing parents with mode 0700, as a directory that nobody but this
 * user and root can have put files into: -EPERM when it is somebody else's. Where others may write
 * to it too, that is the directory below it that is named by this user's number, as
 * dir_make_private() has it. Returns a descriptor, or -errno. */
int dir_make_trusted(const char *path);

/* Rename FROM to TO inside of DIR, unless TO exists: 0, -EEXIST or another -errno. */
int dir_rename_new(int dir, const char *from, const char *to);

#endif
