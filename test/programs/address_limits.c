/* Limits or locks its address space, and prints the results.
 *
 * usage: address_limits all|now|limited|space
 *
 * all: mlockall(2) of present and future mappings; now: of present ones, as a user with a limit of
 * 8 MiB; limited: as such a user, of present and future ones; space: RLIMIT_AS with room for 64 MiB
 * more.
 * Then it computes for a second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static size_t status_kb(const char *name)
{
	char line[256];
	size_t kb = 0;
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, name, strlen(name)))
			kb = strtoul(line + strlen(name), NULL, 10);
	if (status)
		fclose(status);
	return kb;
}

static const char *map(size_t bytes)
{
	void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return got == MAP_FAILED ? "no" : "yes";
}

static const char *lock(int flags)
{
	return mlockall(flags) ? "no" : "yes";
}

static void limit(__rlimit_resource_t which, size_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	if (setrlimit(which, &limit))
		exit(2);
}

static void be_a_user(void)
{
	limit(RLIMIT_MEMLOCK, 8 * MIB);
	if (!geteuid() && setresuid(65534, 65534, 65534))
		exit(2);
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "";
	volatile double sum = 0;

	if (!strcmp(how, "all")) {
		printf("locked: %s\n", lock(MCL_CURRENT | MCL_FUTURE));
		printf("less than 40 MiB: %s\n", status_kb("VmLck:") < 40 * 1024 ? "yes" : "no");
	} else if (!strcmp(how, "now") || !strcmp(how, "limited")) {
		be_a_user();
		printf("locked: %s\n", lock(MCL_CURRENT | (how[0] == 'l' ? MCL_FUTURE : 0)));
		printf("128 KiB: %s\n", map(MIB / 8));
		printf("16 MiB: %s\n", map(16 * MIB));
	} else {
		/* The kernel counts 64 MiB and the agent's part. */
		limit(RLIMIT_AS, 128 * MIB);
		printf("64 MiB: %s\n", map(64 * MIB));
		printf("128 MiB: %s\n", map(128 * MIB));
	}
	fflush(stdout);
	for (clock_t end = clock() + CLOCKS_PER_SEC; clock() < end;)
		sum += 1;
	return 0;
}
