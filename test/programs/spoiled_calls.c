/* Calls that any signal ends, so that the program must begin again.
 *
 * Built with -DLIBRARY, it is a preload whose calls take 60 ms and end at the first signal, as those of the kernel. (The
 * kernel's own need huge pages and privileges.) */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void compute(long ns)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < ns);
}

#ifdef LIBRARY
/* The C library's: a call of the agent's would go on after a sample. */
static int (*next_poll)(struct pollfd *fds, nfds_t count, int ms);

__attribute__((constructor)) static void find(void)
{
	next_poll = (__typeof__(next_poll))dlsym(RTLD_NEXT, "poll");
}

static bool is_ended(void)
{
	for (int i = 0; i < 20; i++) {
		compute(1000000);
		if (next_poll(NULL, 0, 2))
			return true;
	}
	return false;
}

static long end(int error)
{
	errno = error;
	return -1;
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
	return is_ended() ? (int)end(EINTR) : 0;
}

int posix_fallocate(int fd, off_t offset, off_t length)
{
	return is_ended() ? EINTR : 0;
}

long syscall(long number, ...)
{
	if (number == SYS_bpf)
		return is_ended() ? end(EAGAIN) : 0;
	if (number == SYS_fallocate)
		return is_ended() ? end(EINTR) : 0;
	return end(ENOSYS);
}
#else
int main(void)
{
	for (int i = 0; i < 5; i++) {
		compute(5000000);
		errno = 0;
		if (fallocate(0, 0, 0, 1) || posix_fallocate(0, 0, 1) || errno ||
		    syscall(SYS_fallocate, 0, 0, 0, 1) ||
		    syscall(SYS_bpf, BPF_PROG_LOAD, NULL, 0)) {
			perror("ended");
			return 1;
		}
	}
	puts("ok");
	return 0;
}
#endif
