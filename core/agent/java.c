/* Whether this is a process of Java. */
#include "core/agent/java.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/agent_phase.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/privileges.h"
#include "core/shared.h"

#define PATIENCE_NS 10000000000u
#define STEP_NS     20000000u

/* The last thread that the machine starts, when its tools may attach (OpenJDK, Threads::create_vm,
 * WatcherThread::start); as much of its name as the kernel has. */
#define LAST_THREAD "VM Periodic Tas"

/* By a descriptor that is none of the program's. */
static FILE *open_text(const char *path)
{
	int fd = fd_raise(open(path, O_RDONLY | O_CLOEXEC));
	FILE *text = fd < 0 ? NULL : fdopen(fd, "r");

	if (!text && fd >= 0)
		close(fd);
	return text;
}

bool java_is_loaded(void)
{
	char line[PATH_MAX + 128];
	bool java = false;
	FILE *maps = open_text("/proc/self/maps");

	while (maps && !java && fgets(line, sizeof(line), maps))
		java = strstr(line, "/libjvm.so") || strstr(line, "/libjli.so");
	if (maps)
		fclose(maps);
	return java;
}

static bool is_named(const char *tid, const char *name)
{
	char path[64], comm[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", tid);
	file = open_text(path);
	if (!file)
		return false;
	if (!fgets(comm, sizeof(comm), file))
		*comm = '\0';
	fclose(file);
	comm[strcspn(comm, "\n")] = '\0';
	return !strcmp(comm, name);
}

static bool is_up(void)
{
	int fd = fd_raise(open("/proc/self/task", O_RDONLY | O_CLOEXEC | O_DIRECTORY));
	DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *task;
	bool up = !tasks; /* it cannot be told */

	while (tasks && !up && (task = readdir(tasks)))
		up = is_named(task->d_name, LAST_THREAD);
	if (tasks)
		closedir(tasks);
	else if (fd >= 0)
		close(fd);
	return up;
}

bool java_wait(struct wake *wake)
{
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS, now_ns;
	bool woken = false, goes_on = true;

	while (goes_on && !is_up() && (now_ns = clock_monotonic_ns()) < end_ns) {
		privileges_follow(false);
		woken |= wake_wait(wake, now_ns + STEP_NS);
		goes_on = !(atomic_load(&shared->agent.state) & AGENT_STOP);
	}
	if (woken)
		wake_up(wake);
	return goes_on;
}
