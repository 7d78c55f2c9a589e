/* Detection of the program's end when its last thread calls exit(2) directly. */
#include "core/agent/last_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/kernel.h"
#include "core/privileges.h"
#include "core/system.h"
#include "engine/process/proc_file.h"
#include "engine/process/tids.h"

/* A main thread that has ended has no executable. */
static bool main_thread_is_gone(void)
{
	char target[1];

	return system_read_link("/proc/self/exe", target, sizeof(target)) == -ENOENT;
}

bool last_thread_is_gone(void)
{
	bool alone = true;
	ssize_t count;
	pid_t *tids;

	if (!main_thread_is_gone())
		return false;
	count = tids_list(&tids);
	if (count <= 0)
		return false;
	for (ssize_t i = 0; alone && i < count; i++)
		alone = tids[i] == getpid() || privileges_is_checker(tids[i]);
	free(tids);
	return alone;
}

/* Return the main thread's status, as wait(2) reports it, or -1. It is field 52. Field 2, the name, may contain any
 * characters. Source: proc(5). */
static long main_thread_status(void)
{
	char text[1024];
	const char *at = NULL;

	if (proc_file_read("/proc/self/stat", text, sizeof(text)) > 0)
		at = strrchr(text, ')');
	for (int field = 2; at && field < 52; field++)
		at = strchr(at + 1, ' ');
	return at ? strtol(at, NULL, 10) : -1;
}

void last_thread_end_process(void)
{
	long status = main_thread_status();

	if (status >= 0)
		kernel_call4(SYS_exit_group, status >> 8 & 0xff, 0, 0, 0);
}
