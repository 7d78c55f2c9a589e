/* Limits its descriptors to LIMIT (its argument) at SIGUSR1, and to 1000 at SIGUSR2, until it is killed; prints "ready"
 * before, and "limited". */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static rlim_t wanted;

static void set_limit(int signal)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = signal == SIGUSR1 ? wanted : 1000;
	if (setrlimit(RLIMIT_NOFILE, &limit) || write(1, "limited\n", 8) < 0)
		_exit(1);
}

int main(int argc, char **argv)
{
	wanted = argc > 1 ? (rlim_t)atoi(argv[1]) : 0;
	signal(SIGUSR1, set_limit);
	signal(SIGUSR2, set_limit);
	if (write(1, "ready\n", 6) < 0)
		return 1;
	for (;;)
		pause();
}
