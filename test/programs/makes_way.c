/* Works in before(), makes a call for which the agent's threads must end, and works in behind().
 * Usage: makes_way user|mounts|root|capabilities
 *   user          enters a user namespace, mounts  a mount namespace
 *   root          becomes another user and keeps a capability
 *   capabilities  gives up all but one
 * Status 77 if that is not allowed; 3 if a thread has more rights than the program. */
#include <dirent.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

#define NOBODY    65534
#define BEFORE_MS 300
#define BEHIND_MS 700
#define KEPT      (UINT64_C(1) << CAP_NET_BIND_SERVICE)

static void work(clock_t ms)
{
	clock_t end = clock() + ms * CLOCKS_PER_SEC / 1000;

	while (clock() < end)
		;
}

__attribute__((noinline)) static void before(void)
{
	work(BEFORE_MS);
	atomic_signal_fence(memory_order_seq_cst); /* a call, not a jump */
}

__attribute__((noinline)) static void behind(void)
{
	work(BEHIND_MS);
	atomic_signal_fence(memory_order_seq_cst);
}

static void keep_one(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct kept[2] = { { .permitted = (uint32_t)KEPT,
						    .effective = (uint32_t)KEPT } };

	CHECK(!syscall(SYS_capset, &header, kept));
}

static int has_more(const char *tid)
{
	char path[300], line[256];
	unsigned long long caps = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "CapPrm:", 7))
			caps = strtoull(line + 7, NULL, 16);
	if (file)
		fclose(file);
	return (caps & ~KEPT) != 0;
}

static int somebody_has_more(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int found = 0;

	CHECK(dir);
	while ((entry = readdir(dir)))
		found |= entry->d_name[0] != '.' && has_more(entry->d_name);
	closedir(dir);
	return found;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	before();
	if (!strcmp(argv[1], "user")) {
		if (unshare(CLONE_NEWUSER))
			return errno == EINVAL ? 1 : 77;
	} else if (!strcmp(argv[1], "mounts")) {
		if (unshare(CLONE_NEWNS | CLONE_NEWUSER) || unshare(CLONE_NEWNS))
			return errno == EINVAL ? 1 : 77;
	} else {
		if (!strcmp(argv[1], "root"))
			CHECK(!prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) &&
			      !setresgid(NOBODY, NOBODY, NOBODY) &&
			      !setresuid(NOBODY, NOBODY, NOBODY));
		keep_one();
	}
	behind();
	if (argv[1][0] != 'u' && argv[1][0] != 'm' && somebody_has_more())
		return 3;
	return 0;
}
