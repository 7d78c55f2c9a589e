/* The image's C library alone: a static program, linked like the image. Functions that would affect
 * other threads must do nothing, and functions that end a program elsewhere end a thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory/region.h"
#include "core/shared.h"
#include "core/system.h"
#include "image/ending.h"
#include "image/memory.h"

#define THREADS 4

static struct shared between;
struct shared *shared = &between;

static bool failed;
static _Atomic int reports;

/* The C library's exit does not end this program either. */
static _Noreturn void end(int status)
{
	fflush(NULL);
	for (;;)
		syscall(SYS_exit_group, status);
}

static void check(bool right, const char *what)
{
	if (right)
		return;
	printf("%s (errno %d)\n", what, errno);
	failed = true;
}

static uint64_t mask(void)
{
	uint64_t blocked = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &blocked, sizeof(blocked));
	return blocked;
}

/* A signal that is pending for the process, of the signals that musl reserves and the first that glibc
 * gives to programs: it kills the program as soon as any thread unblocks it. */
static void wait_with_signals(void)
{
	uint64_t all = UINT64_MAX;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	for (int number = 32; number <= 35; number++)
		syscall(SYS_kill, getpid(), number);
	syscall(SYS_kill, getpid(), SIGTERM);
}

static void *read_mask(void *result)
{
	*(uint64_t *)result = mask();
	return NULL;
}

static void threads_keep_the_mask(void)
{
	uint64_t before = mask(), inside = 0;
	pthread_t thread;

	check(!pthread_create(&thread, NULL, read_mask, &inside), "no thread");
	check(!pthread_join(thread, NULL), "a thread cannot be waited for");
	check(inside == before, "a thread has another mask");
	check(mask() == before, "making a thread changes the mask");
}

static unsigned next(unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 8;
}

/* Blocks of all sizes, each filled with its own number, in random order. */
static void *allocate(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)argument;
	struct {
		uint8_t *at;
		size_t size;
		uint8_t fill;
	} blocks[128] = { 0 };
	bool good = true;

	for (int turn = 0; turn < 20000; turn++) {
		unsigned i = next(&seed) % 128;

		for (size_t k = 0; k < blocks[i].size; k += 61)
			good = good && blocks[i].at[k] == blocks[i].fill;
		blocks[i].size = next(&seed) % (i ? 3000 : 300000);
		blocks[i].at = realloc(blocks[i].at, blocks[i].size + 1);
		blocks[i].fill = (uint8_t)turn;
		if (blocks[i].at)
			memset(blocks[i].at, blocks[i].fill, blocks[i].size + 1);
		good = good && blocks[i].at;
	}
	for (size_t i = 0; i < 128; i++)
		free(blocks[i].at);
	return good ? argument : NULL;
}

static void malloc_leaves_the_heap_alone(void)
{
	pthread_t threads[THREADS];
	long heap = syscall(SYS_brk, 0);
	char line[256];
	FILE *maps;

	for (uintptr_t i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, allocate, (void *)(i + 1)), "no thread");
	for (size_t i = 0; i < THREADS; i++) {
		void *result = NULL;

		pthread_join(threads[i], &result);
		check(result, "memory has other contents");
	}
	check(syscall(SYS_brk, 0) == heap, "the heap has grown");
	maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof(line), maps))
		check(!strstr(line, "[heap]"), "there is a heap");
	if (maps)
		fclose(maps);
}

static void stdio_and_names_work(void)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char text[64];
	double number = 0;

	snprintf(text, sizeof(text), "%s %d %.3f %zx", "text", -7, 1.0 / 3, (size_t)48879);
	check(!strcmp(text, "text -7 0.333 beef"), "snprintf");
	check(sscanf("12.75e-1", "%lf", &number) == 1 && number > 1.2749 && number < 1.2751,
	      "sscanf");
	check(!getaddrinfo("127.0.0.1", "80", &hints, &found) && found &&
		      ((struct sockaddr_in *)(void *)found->ai_addr)->sin_port == htons(80),
	      "getaddrinfo");
	freeaddrinfo(found);
}

static void handler(int number)
{
	(void)number;
}

static void nothing_reaches_the_program(void)
{
	struct sigaction action = { .sa_handler = handler }, now = { 0 };
	uint64_t before = mask();
	sigset_t none;

	sigemptyset(&none);
	check(sigprocmask(SIG_SETMASK, &none, NULL) && mask() == before, "sigprocmask");
	check(pthread_sigmask(SIG_SETMASK, &none, NULL) && mask() == before, "pthread_sigmask");
	check(sigaction(SIGUSR1, &action, &now), "sigaction");
	check(kill(getpid(), SIGKILL), "kill");
	check(raise(SIGKILL), "raise");
	check(fork() == -1, "fork");
	check(setuid(getuid()), "setuid");
}

static atomic_int aborts;

static void count(void)
{
	atomic_fetch_add(&aborts, 1);
}

struct ending {
	void (*how)(void);
	_Atomic pid_t tid;
	atomic_bool survived;
};

static void *end_thread(void *argument)
{
	struct ending *ending = argument;

	atomic_store(&ending->tid, (pid_t)syscall(SYS_gettid));
	ending->how();
	atomic_store(&ending->survived, true);
	return NULL;
}

/* Not by pthread_join: the thread does not reach the end. */
static void ends_a_thread(const char *what, void (*how)(void))
{
	static struct ending ending;
	pthread_t thread;
	int tries = 0;

	atomic_store(&ending.tid, 0);
	atomic_store(&ending.survived, false);
	ending.how = how;
	check(!pthread_create(&thread, NULL, end_thread, &ending), "no thread");
	while (!atomic_load(&ending.tid) ||
	       !syscall(SYS_tgkill, getpid(), atomic_load(&ending.tid), 0)) {
		if (atomic_load(&ending.survived) || ++tries > 10000)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	check(tries <= 10000 && !atomic_load(&ending.survived), what);
}

static void write_past_a_block(void)
{
	volatile size_t size = 100;
	volatile char *block = malloc(size);

	block[size] = 'x';
	free((void *)(uintptr_t)block);
}

static void write_past_the_stack(void)
{
	volatile char buffer[16];
	volatile char *at = buffer;

	for (size_t i = 0; i < 64; i++)
		at[i] = 'x';
}

static void leave(void)
{
	exit(3);
}

static void leave_at_once(void)
{
	_Exit(4);
}

static void broken_threads_end_alone(void)
{
	image_on_abort(count);
	ends_a_thread("abort ends more than its thread, or less", abort);
	check(atomic_load(&aborts) == 1, "an abort was not reported");
	ends_a_thread("a broken block is freed, or ends the program", write_past_a_block);
	ends_a_thread("a broken stack is returned from, or ends the program", write_past_the_stack);
	check(atomic_load(&aborts) == 1, "it was told again");
	ends_a_thread("_Exit ends more than its thread, or less", leave_at_once);
	ends_a_thread("exit ends more than its thread, or less", leave);
}

/* core/memory/region.h */
void log_warn_later(const char *format, int number)
{
	(void)format, (void)number;
	atomic_fetch_add(&reports, 1);
}

static void *map(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* (An emulator copies all memory.) */
static void children_have_empty_memory(void)
{
	size_t bytes = ARCH_PAGE_MAX, before = region_free_bytes();
	unsigned char *memory;
	int status = 0;
	long child;

	if (getenv("TEST_RUNNER"))
		return;
	image_memory_begin();
	memory = map(bytes);
	*memory = 1;
	child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!child) {
		status = *memory;
		image_memory_begin(); /* as one that begins in a child */
		syscall(SYS_exit_group, status | 2 * (region_free_bytes() != before));
	}
	check(child > 0 && waitpid((pid_t)child, &status, 0) == child && WIFEXITED(status),
	      "no child");
	check(!(WEXITSTATUS(status) & 1), "a child has a copy of the memory");
	check(!(WEXITSTATUS(status) & 2), "memory of an ancestor is kept");
	munmap(memory, bytes);
}

static void memory_is_in_the_region(void)
{
	size_t before = region_free_bytes();
	char *first = map(5 << 20), *second = map(2 << 20), *third;

	check(region_has(first) && region_has(second), "the kernel has chosen an address");
	memset(first, 1, 5 << 20);
	memset(second, 2, 2 << 20);
	third = mremap(first, 5 << 20, 7 << 20, MREMAP_MAYMOVE);
	check(region_has(third) && third != first && third[0] == 1 && third[(5 << 20) - 1] == 1 &&
		      !third[(7 << 20) - 1],
	      "what has moved has changed");
	check(mremap(second, 2 << 20, 1 << 20, 0) == second && second[0] == 2,
	      "it does not shrink");
	check(mremap(second, 1 << 20, 2 << 20, 0) == second && second[0] == 2 && !second[1 << 20],
	      "it does not grow where it is");
	check(mremap(third, 7 << 20, 1 << 30, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM &&
		      third[0] == 1,
	      "more than there is is given");
	check(map(1 << 30) == MAP_FAILED && errno == ENOMEM && atomic_load(&reports) == 1,
	      "the kernel is asked where the region has no room, or it is not reported once");
	check(map(PTRDIFF_MAX) == MAP_FAILED && map(SIZE_MAX / 2 + 2) == MAP_FAILED &&
		      errno == ENOMEM,
	      "half of all memory is given");
	munmap(third, 7 << 20);
	munmap(second, 2 << 20);
	check(region_free_bytes() == before, "something is not returned");
}

int main(void)
{
	wait_with_signals();
	threads_keep_the_mask();
	malloc_leaves_the_heap_alone();
	stdio_and_names_work();
	nothing_reaches_the_program();
	check(!region_begin(64 << 20), "no region");
	memory_is_in_the_region();
	children_have_empty_memory();
	broken_threads_end_alone();
	end(failed);
}
