/* Opens the list of generated code. */
#include "engine/process/perf_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/fd.h"
#include "engine/process/proc_file.h"

/* Position of the start of the process in /proc/self/stat, counted after the name. */
#define START_FIELD 20

/* Clocks of files are coarse, and the start is rounded. */
#define SLACK_S 2

void perf_list_path(char *path, size_t size)
{
	snprintf(path, size, "/tmp/perf-%d.map", getpid());
}

/* Time of the start of this process, in seconds since 1970; 0 if not known. */
static time_t start_time(void)
{
	struct timespec now = { 0 };
	char text[1024], *field;
	time_t ago;

	proc_file_read("/proc/self/stat", text, sizeof(text));
	field = strrchr(text, ')');
	for (int i = 0; i < START_FIELD && field; i++)
		field = strchr(field + 1, ' ');
	if (!field || clock_gettime(CLOCK_BOOTTIME, &now))
		return 0;
	ago = now.tv_sec -
	      (time_t)(strtoull(field, NULL, 10) / (unsigned long long)sysconf(_SC_CLK_TCK));
	return time(NULL) - ago;
}

int perf_list_open(const char *path, struct stat *st)
{
	int fd = fd_raise(open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
	int err = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, st) || !S_ISREG(st->st_mode) || st->st_uid != geteuid())
		err = -EPERM;
	else if (st->st_mtime + SLACK_S < start_time())
		err = -ESTALE;
	if (err)
		close(fd);
	return err ? err : fd;
}
