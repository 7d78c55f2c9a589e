/* Turns Syscall User Dispatch on, allows only the C library's code, and continues as programs do:
 * with calls that wait, threads, handlers, files, children. Prints a line for each system call that
 * comes from other code, and their number.
 * Usage: dispatches [raw]: it turns it on by syscall(2) */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF          0
#define PR_SYS_DISPATCH_ON           1
#endif

#define ALLOW 0
#define BLOCK 1

static volatile char selector = ALLOW;
static const char *volatile step;
static atomic_int met;

struct text {
	uintptr_t inside, start, end;
};

static int find_text(struct dl_phdr_info *info, size_t size, void *data)
{
	struct text *text = data;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || text->inside - start >= part->p_memsz)
			continue;
		text->start = start;
		text->end = start + part->p_memsz;
		return 1;
	}
	return 0;
}

static void on_call(int signo, siginfo_t *info, void *context)
{
	char line[256];
	int length;

	(void)signo;
	(void)context;
	selector = ALLOW; /* later calls give no more information */
	atomic_fetch_add(&met, 1);
	length = snprintf(line, sizeof(line), "%s: call %d from %p\n", step, info->si_syscall,
			  info->si_call_addr);
	if (write(2, line, (size_t)length) < 0)
		_exit(3);
}

static void on_signal(int signo)
{
	(void)signo;
}

/* (The vDSO's clocks may enter the kernel from their own code.) */
static long spent_ms(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

static void burn(long ms)
{
	long end = spent_ms() + ms;

	while (spent_ms() < end)
		for (volatile int i = 0; i < 100000; i++)
			;
}

static void *run(void *unused)
{
	poll(NULL, 0, 10);
	return unused;
}

static void wait_in_many_ways(void)
{
	struct timespec moment = { .tv_nsec = 1000000 };
	struct timeval also = { .tv_usec = 1000 };

	poll(NULL, 0, 5);
	select(0, NULL, NULL, NULL, &also);
	nanosleep(&moment, NULL);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
	usleep(1000);
}

static void use_files(void)
{
	int ends[2], sockets[2];
	char bytes[64] = "";
	FILE *file;

	if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) ||
	    write(ends[1], "x", 1) != 1 || read(ends[0], bytes, 1) != 1 ||
	    send(sockets[0], "y", 1, 0) != 1 || recv(sockets[1], bytes, sizeof(bytes), 0) != 1 ||
	    syscall(SYS_write, ends[1], "z", 1) != 1 ||
	    syscall(SYS_read, ends[0], bytes, sizeof(bytes)) != 1)
		exit(4);
	file = fopen("/proc/self/stat", "r");
	if (!file || !fgets(bytes, sizeof(bytes), file) || fclose(file))
		exit(4);
	close(ends[0]);
	close(ends[1]);
	close(sockets[0]);
	close(sockets[1]);
}

static void use_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal }, before;
	sigset_t set, was;

	sigaction(SIGUSR1, &action, &before);
	raise(SIGUSR1);
	signal(SIGTERM, on_signal);
	signal(SIGTERM, SIG_DFL);
	signal(63, SIG_IGN);
	signal(63, SIG_DFL);
	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, &was);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	sigaction(SIGUSR1, &before, NULL);
}

static void make_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void make_children(void)
{
	char *const argv[] = { "true", NULL }, *const none[] = { NULL };
	pid_t child = fork();
	int status;

	if (!child)
		_exit(0);
	waitpid(child, &status, 0);
	if (!posix_spawn(&child, "/bin/true", NULL, NULL, argv, none))
		waitpid(child, &status, 0);
}

static void allocate(void)
{
	for (int i = 0; i < 1000; i++)
		free(malloc((size_t)i * 1000));
}

static void end_what_it_set(void)
{
	if (setuid(getuid()) || prctl(PR_SET_NAME, "dispatches") || syscall(SYS_getpid) != getpid())
		exit(4);
}

static void burn_long(void)
{
	burn(200);
}

static const struct {
	const char *name;
	void (*call)(void);
} steps[] = {
	{ "computing", burn_long },  { "waits", wait_in_many_ways },  { "files", use_files },
	{ "signals", use_signals },  { "threads", make_threads },     { "children", make_children },
	{ "allocations", allocate }, { "the rest", end_what_it_set },
};

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_call, .sa_flags = SA_SIGINFO };
	void *library = dlopen("libc.so.6", RTLD_LAZY);
	struct text text = { .inside = (uintptr_t)(library ? dlsym(library, "getpid") : NULL) };
	long failed;

	(void)argv;
	if (!text.inside || !dl_iterate_phdr(find_text, &text))
		return 77;
	sigaction(SIGSYS, &action, NULL);
	burn(200);
	failed = argc > 1 ? syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON,
				    text.start, text.end - text.start, &selector)
			  : prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, text.start,
				  text.end - text.start, &selector);
	if (failed)
		return 77;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		step = steps[i].name;
		selector = BLOCK;
		steps[i].call();
		selector = ALLOW;
	}
	printf("%d\n", atomic_load(&met));
	step = "exit";
	selector = BLOCK;
	return 0;
}
