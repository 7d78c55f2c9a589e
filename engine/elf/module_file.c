/* Opens the files of modules, unless any user may have created them. */
#include "engine/elf/module_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"

/* Whether any user may create files in a directory of PATH. */
static bool is_open_to_all(const char *path)
{
	char directory[PATH_MAX];
	struct stat st;
	char *slash;

	if (*path != '/' || strlen(path) >= sizeof(directory))
		return true;
	strcpy(directory, path);
	while ((slash = strrchr(directory, '/'))) {
		slash[slash == directory] = '\0';
		if (stat(directory, &st) || st.st_mode & S_IWOTH)
			return true;
		if (slash == directory)
			break;
	}
	return false;
}

int module_file_open(const char *path)
{
	struct stat st;
	int fd, err = 0;

	/* Only a regular file is opened. A FIFO, or a pipe that has got the number in /proc/self/fd, would have a reader more:
	 * that wakes the program's writers. */
	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/* If it is replaced by a FIFO now, O_NONBLOCK prevents a wait. */
	fd = fd_raise(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else if (st.st_uid && st.st_uid != geteuid() && is_open_to_all(path))
		err = -EPERM;
	if (err)
		close(fd);
	return err ? err : fd;
}

int module_file_open_elf(struct elf **out, const char *path)
{
	int fd = module_file_open(path);

	return fd < 0 ? fd : elf_open_fd(out, fd);
}
