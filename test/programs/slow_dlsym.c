/* A library to preload: delays async-profiler's start in a Java VM until the VM has ended. The file that STARTED names
 * appears when the start has reached the VM. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/programs/next_dlsym.h"

static bool vm_runs(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	bool runs = false;
	char path[300], name[32];

	while (!runs && (task = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		FILE *file = fopen(path, "r");

		runs = file && fgets(name, sizeof(name), file) && !strcmp(name, "VM Thread\n");
		if (file)
			fclose(file);
	}
	closedir(tasks);
	return runs;
}

void *slow_dlsym(void *handle, const char *name) __asm__("dlsym");

/* VM::init() asks for this function before it uses the VM. */
void *slow_dlsym(void *handle, const char *name)
{
	if (strcmp(name, "AsyncGetCallTrace") == 0) {
		close(open(getenv("STARTED"), O_WRONLY | O_CREAT, 0600));
		for (int i = 0; i < 1000 && vm_runs(); i++)
			usleep(10000);
		usleep(100000);
	}
	return next_dlsym()(handle, name);
}
