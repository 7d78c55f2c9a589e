/* Thread ids of this process, as the kernel lists them. */
#include "engine/process/tids.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/system.h"

static int compare_tids(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

ssize_t tids_list(pid_t **tids)
{
	size_t count = 0, room = 0;
	struct dirent *entry;
	pid_t *list = NULL;
	ssize_t result;
	DIR *dir;
	int fd;

	fd = fd_of_thread(system_thread(), "task", O_DIRECTORY);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		if (count == room) {
			pid_t *larger =
				realloc(list, (room = room ? 2 * room : 64) * sizeof(*list));

			if (!larger) {
				result = -ENOMEM;
				goto out;
			}
			list = larger;
		}
		list[count++] = tid;
	}
	qsort(list, count, sizeof(*list), compare_tids);
	*tids = list;
	list = NULL;
	result = (ssize_t)count;
out:
	free(list);
	closedir(dir);
	return result;
}

const pid_t *tids_find(const pid_t *tids, size_t count, pid_t tid)
{
	return count ? bsearch(&tid, tids, count, sizeof(*tids), compare_tids) : NULL;
}
