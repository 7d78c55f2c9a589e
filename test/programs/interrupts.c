/* interrupts MS [SIZE]
 *
 * For MS milliseconds each: waits for another process's writes by select, which nothing may
 * interrupt; waits for a signal of its own, which must end each wait; cancels threads that wait;
 * and runs code in execute-only memory, if the processor has it. Prints "ok". The main thread has an alternate signal
 * stack of SIZE bytes, which its handler runs on. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

static volatile sig_atomic_t alarms;

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static unsigned int any(void)
{
	static unsigned int state = 1;

	state = state * 1103515245 + 12345;
	return state >> 16;
}

static void write_until(int fd, uint64_t end)
{
	static const char data[2000];

	while (now_ms() < end) {
		usleep(any() % 3000);
		CHECK(write(fd, data, 1 + any() % sizeof(data)) > 0);
	}
	_exit(0);
}

static void others_writes(int ms)
{
	char data[2048];
	int ends[2], status;
	ssize_t n;
	fd_set set;

	CHECK(!pipe(ends));
	if (!fork()) {
		close(ends[0]);
		write_until(ends[1], now_ms() + (unsigned int)ms);
	}
	close(ends[1]);
	do {
		FD_ZERO(&set);
		FD_SET(ends[0], &set);
		CHECK(select(ends[0] + 1, &set, NULL, NULL, NULL) == 1);
		CHECK(FD_ISSET(ends[0], &set));
		n = read(ends[0], data, sizeof(data));
		CHECK(n >= 0);
	} while (n);
	close(ends[0]);
	CHECK(wait(&status) > 0 && !status);
}

static void on_alarm(int signo)
{
	(void)signo;
	alarms++;
}

/* Only the call unblocks it, so it cannot come earlier. */
static void own_signals(int ms)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_ONSTACK };
	struct timespec time = { .tv_sec = 60 };
	uint64_t end = now_ms() + (unsigned int)ms;
	struct itimerval once = { 0 };
	sigset_t alarm_only, none;
	int n = 0;

	sigemptyset(&none);
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	CHECK(!sigaction(SIGALRM, &action, NULL));
	CHECK(!sigprocmask(SIG_BLOCK, &alarm_only, NULL));
	while (now_ms() < end) {
		once.it_value.tv_usec = 500 + any() % 4000;
		CHECK(!setitimer(ITIMER_REAL, &once, NULL));
		errno = 0;
		if (n++ % 2)
			CHECK(ppoll(NULL, 0, &time, &none) == -1 && errno == EINTR);
		else
			CHECK(pselect(0, NULL, NULL, NULL, &time, &none) == -1 && errno == EINTR);
		CHECK(alarms == n);
	}
}

static void *wait_for_ever(void *unused)
{
	poll(NULL, 0, -1);
	return unused;
}

/* A wait that samples have interrupted is still a cancellation point. */
static void cancellations(int ms)
{
	uint64_t end = now_ms() + (unsigned int)ms;
	pthread_t thread;
	void *result;

	while (now_ms() < end) {
		CHECK(!pthread_create(&thread, NULL, wait_for_ever, NULL));
		usleep(any() % 30000);
		CHECK(!pthread_cancel(thread) && !pthread_join(thread, &result));
		CHECK(result == PTHREAD_CANCELED);
	}
}

#if defined(__x86_64__)
static const unsigned char countdown[] = { 0x48, 0x89, 0xf8,   /* 1: mov %rdi, %rax */
					   0x48, 0xff, 0xc8,   /* 2: dec %rax */
					   0x75, 0xfb, 0xc3 }; /* jnz 2b; ret */
#elif defined(__aarch64__)
static const uint32_t countdown[] = { 0xf1000400,   /* 1: subs x0, x0, #1 */
				      0x54ffffe1,   /* b.ne 1b */
				      0xd65f03c0 }; /* ret */
#endif

static void unreadable_code(int ms)
{
	uint64_t end = now_ms() + (unsigned int)ms;
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(code != MAP_FAILED);
	memcpy(code, countdown, sizeof(countdown));
	__builtin___clear_cache(code, code + sizeof(countdown));
	CHECK(!mprotect(code, 4096, PROT_EXEC));
	while (now_ms() < end)
		CHECK(!((long (*)(long))code)(1000000));
}

int main(int argc, char **argv)
{
	int ms = argc > 1 ? atoi(argv[1]) : 1000;
	stack_t stack = { .ss_size = argc > 2 ? (size_t)atoi(argv[2]) : 0 }, now;

	stack.ss_sp = malloc(stack.ss_size);
	CHECK(!stack.ss_size || !sigaltstack(&stack, NULL));
	others_writes(ms);
	own_signals(ms);
	CHECK(!sigaltstack(NULL, &now) && now.ss_size == stack.ss_size);
	cancellations(ms);
	unreadable_code(ms);
	puts("ok");
	return 0;
}
