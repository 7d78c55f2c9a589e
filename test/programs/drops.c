/* Gives up root when an agent takes samples, if there is one. The argument selects how: the C library's functions
 * ("library"), syscall(2) ("call"), syscall(2) in one thread after the other ("threads"), a system call instruction
 * ("kernel"), or all capabilities but not the user ("capabilities"). Then no thread may be root for long. Prints "ok",
 * or "ok, at once" if no thread was root at the first check. */
#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/kernel.h"
#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define NOBODY    65534
#define GIVE_UP_S 20
#define GO_ON_MS  200 /* so that a report has something */

static int keeps_user;

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* The value of a line in the status of thread TID, in base BASE. */
static unsigned long status(const char *tid, const char *name, int base)
{
	char path[300], line[256];
	unsigned long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			value = strtoul(line + strlen(name), NULL, base);
	if (file)
		fclose(file);
	return file || errno == ENOENT ? value : 1;
}

static int has_root(const char *tid)
{
	return status(tid, "CapPrm:", 16) || status(tid, "CapEff:", 16) ||
	       (!keeps_user && status(tid, "Uid:", 10) != NOBODY);
}

static int somebody_has_root(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int found = 0;

	CHECK(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			found |= has_root(entry->d_name);
	closedir(dir);
	return found;
}

static sem_t may_drop, may_end;

static void drop_by_call(void)
{
	CHECK(!syscall(SYS_setgroups, 0, NULL));
	CHECK(!syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY));
	CHECK(!syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY));
}

static void *drop_last(void *dropped)
{
	sem_wait(&may_drop);
	drop_by_call();
	sem_post(dropped);
	sem_wait(&may_end);
	return NULL;
}

static void drop_in_two_threads(void)
{
	pthread_t other;
	sem_t dropped;

	sem_init(&may_drop, 0, 0);
	sem_init(&may_end, 0, 0);
	sem_init(&dropped, 0, 0);
	CHECK(!pthread_create(&other, NULL, drop_last, &dropped));
	drop_by_call();
	sem_post(&may_drop);
	sem_wait(&dropped);
}

static void drop(const char *how)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	if (!strcmp(how, "library")) {
		CHECK(!setgroups(0, NULL));
		CHECK(!setresgid(NOBODY, NOBODY, NOBODY));
		CHECK(!setresuid(NOBODY, NOBODY, NOBODY));
	} else if (!strcmp(how, "call")) {
		drop_by_call();
	} else if (!strcmp(how, "threads")) {
		drop_in_two_threads();
	} else if (!strcmp(how, "kernel")) {
		CHECK(!kernel_call4(SYS_setgroups, 0, 0, 0, 0));
		CHECK(!kernel_call4(SYS_setresgid, NOBODY, NOBODY, NOBODY, 0));
		CHECK(!kernel_call4(SYS_setresuid, NOBODY, NOBODY, NOBODY, 0));
	} else {
		CHECK(!kernel_call4(SYS_capset, (long)&header, (long)none, 0, 0));
		keeps_user = 1;
	}
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + GIVE_UP_S;
	int at_once = 1;

	CHECK(argc == 2);
	while (asprof_agent_running && !asprof_agent_running() && time(NULL) < until)
		pause_ms(1);
	if (asprof_agent_running)
		pause_ms(GO_ON_MS); /* all threads of the program have started */
	drop(argv[1]);
	while (somebody_has_root()) {
		CHECK(time(NULL) < until);
		at_once = 0;
		pause_ms(10);
	}
	if (asprof_agent_running)
		pause_ms(GO_ON_MS);
	puts(at_once ? "ok, at once" : "ok");
	return 0;
}
