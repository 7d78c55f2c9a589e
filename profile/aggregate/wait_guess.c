/* Guess of what a thread waits for, by the innermost functions of its stack. */
#include "profile/aggregate/wait_guess.h"

#include <stddef.h>
#include <string.h>

#include "profile/basics/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Functions by rank: a futex call is used for all kinds of locks, so the function that calls it is
 * more exact. */
enum { RANK_VAGUE = 1, RANK_CALL, RANK_REASON, RANK_JAVA };

/* Names without leading underscores and prefixes. A row with IS_PREFIX matches longer names too. */
static const struct {
	const char *name;
	bool is_prefix;
	enum wait_cause cause;
	unsigned rank;
} functions[] = {
	{ "take_gil", false, WAIT_GIL, RANK_REASON },
	{ "JavaThread::sleep", true, WAIT_SLEEP, RANK_REASON },
	{ "ObjectMonitor::enter", true, WAIT_LOCK, RANK_REASON },
	{ "ObjectMonitor::Enter", true, WAIT_LOCK, RANK_REASON },
	{ "pthread_mutex_", true, WAIT_LOCK, RANK_CALL },
	{ "pthread_rwlock_", true, WAIT_LOCK, RANK_CALL },
	{ "lll_lock_", true, WAIT_LOCK, RANK_VAGUE },
	{ "pthread_cond_", true, WAIT_CONDITION, RANK_CALL },
	{ "pthread_barrier_wait", false, WAIT_CONDITION, RANK_CALL },
	{ "pthread_join", true, WAIT_CHILD, RANK_CALL },
	{ "pthread_timedjoin", true, WAIT_CHILD, RANK_CALL },
	{ "pthread_clockjoin", true, WAIT_CHILD, RANK_CALL },
	{ "sem_", true, WAIT_SEMAPHORE, RANK_CALL },
	{ "new_sem_", true, WAIT_SEMAPHORE, RANK_CALL },
	{ "semop", false, WAIT_SEMAPHORE, RANK_CALL },
	{ "semtimedop", false, WAIT_SEMAPHORE, RANK_CALL },
	{ "futex", true, WAIT_LOCK, RANK_VAGUE },
	{ "timedwait", true, WAIT_LOCK, RANK_VAGUE }, /* musl's */
	{ "epoll_", true, WAIT_IDLE, RANK_CALL },
	{ "epollwait", true, WAIT_IDLE, RANK_CALL },
	{ "ep_poll", false, WAIT_IDLE, RANK_CALL },
	{ "poll", false, WAIT_IDLE, RANK_CALL },
	{ "poll_chk", false, WAIT_IDLE, RANK_CALL },
	{ "ppoll", false, WAIT_IDLE, RANK_CALL },
	{ "select", false, WAIT_IDLE, RANK_CALL },
	{ "pselect", true, WAIT_IDLE, RANK_CALL },
	{ "nanosleep", false, WAIT_SLEEP, RANK_CALL },
	{ "clock_nanosleep", true, WAIT_SLEEP, RANK_CALL },
	{ "hrtimer_nanosleep", false, WAIT_SLEEP, RANK_CALL },
	{ "usleep", true, WAIT_SLEEP, RANK_CALL },
	{ "sleep", false, WAIT_SLEEP, RANK_CALL },
	{ "wait", false, WAIT_CHILD, RANK_CALL },
	{ "wait3", false, WAIT_CHILD, RANK_CALL },
	{ "wait4", true, WAIT_CHILD, RANK_CALL },
	{ "waitpid", false, WAIT_CHILD, RANK_CALL },
	{ "waitid", false, WAIT_CHILD, RANK_CALL },
	{ "accept", true, WAIT_ACCEPT, RANK_CALL },
	{ "connect", false, WAIT_CONNECT, RANK_CALL },
	{ "recv", true, WAIT_SOCKET_READ, RANK_CALL },
	{ "tcp_recvmsg", true, WAIT_SOCKET_READ, RANK_REASON },
	{ "unix_stream_read", true, WAIT_SOCKET_READ, RANK_REASON },
	{ "send", false, WAIT_SOCKET_WRITE, RANK_CALL },
	{ "sendto", false, WAIT_SOCKET_WRITE, RANK_CALL },
	{ "sendmsg", false, WAIT_SOCKET_WRITE, RANK_CALL },
	{ "sendmmsg", false, WAIT_SOCKET_WRITE, RANK_CALL },
	{ "tcp_sendmsg", true, WAIT_SOCKET_WRITE, RANK_REASON },
	{ "pipe_read", false, WAIT_PIPE_READ, RANK_REASON },
	{ "anon_pipe_read", false, WAIT_PIPE_READ, RANK_REASON },
	{ "pipe_write", false, WAIT_PIPE_WRITE, RANK_REASON },
	{ "anon_pipe_write", false, WAIT_PIPE_WRITE, RANK_REASON },
	{ "filemap_fault", false, WAIT_PAGE_FAULT, RANK_REASON },
	{ "fsync", false, WAIT_FILE, RANK_CALL },
	{ "fdatasync", false, WAIT_FILE, RANK_CALL },
	{ "msync", false, WAIT_FILE, RANK_CALL },
	{ "sync", false, WAIT_FILE, RANK_CALL },
	{ "syncfs", false, WAIT_FILE, RANK_CALL },
	{ "sync_file_range", false, WAIT_FILE, RANK_CALL },
	{ "fallocate", true, WAIT_FILE, RANK_CALL },
	{ "ftruncate", true, WAIT_FILE, RANK_CALL },
	{ "flock", false, WAIT_LOCK, RANK_CALL },
	{ "open", false, WAIT_FILE, RANK_CALL },
	{ "open64", true, WAIT_FILE, RANK_CALL },
	{ "openat", true, WAIT_FILE, RANK_CALL },
	{ "pread", true, WAIT_FILE, RANK_CALL },
	{ "pwrite", true, WAIT_FILE, RANK_CALL },
	{ "read", false, WAIT_SYSCALL, RANK_VAGUE },
	{ "readv", false, WAIT_SYSCALL, RANK_VAGUE },
	{ "write", false, WAIT_SYSCALL, RANK_VAGUE },
	{ "writev", false, WAIT_SYSCALL, RANK_VAGUE },
	{ "ioctl", false, WAIT_SYSCALL, RANK_VAGUE },
	{ "pause", false, WAIT_SYSCALL, RANK_VAGUE },
	{ "sigsuspend", false, WAIT_SYSCALL, RANK_VAGUE },
	{ "sigtimedwait", true, WAIT_SYSCALL, RANK_VAGUE },
	{ "sigwait", true, WAIT_SYSCALL, RANK_VAGUE },
	{ "io_uring_enter", false, WAIT_SYSCALL, RANK_VAGUE },
	{ "io_getevents", false, WAIT_FILE, RANK_CALL },
};

/* Java's locks park their threads by this class. Semaphores and latches call the last of its functions. */
static const char java_locks[] = "java/util/concurrent/locks/AbstractQueued";

static const struct {
	const char *name;
	enum wait_cause cause;
	unsigned rank;
} java_functions[] = {
	{ "acquire", WAIT_LOCK, RANK_REASON },
	{ "acquireQueued", WAIT_LOCK, RANK_REASON },
	{ "doAcquireShared", WAIT_LOCK, RANK_REASON },
	{ "acquireSharedInterruptibly", WAIT_CONDITION, RANK_JAVA },
};

/* Prefixes of names that are not part of the call's name, after underscores were removed. */
static const char *const prefixes[] = {
	"runtime.", "GI_", "libc_", "x64_sys_", "arm64_sys_", "ia32_sys_", "se_sys_", "sys_", "do_",
};

/* Beginnings of the names of libraries that enter the kernel. */
static const char *const c_libraries[] = { "libc.", "libc-", "libpthread", "ld-musl" };

static const char *skip_prefixes(const char *name)
{
	size_t length, i = 0;

	name += strspn(name, "_");
	while (i < COUNT(prefixes)) {
		length = strlen(prefixes[i]);
		if (strncmp(name, prefixes[i], length) != 0) {
			i++;
			continue;
		}
		name += length;
		name += strspn(name, "_");
		i = 0;
	}
	return name;
}

static bool enters_kernel(const char *name, const char *library)
{
	const char *base = text_base_name(library);

	for (size_t i = 0; i < COUNT(c_libraries); i++)
		if (!strncmp(base, c_libraries[i], strlen(c_libraries[i])))
			return true;
	return !strncmp(name, "runtime.", strlen("runtime.")) || !strcmp(name, "take_gil") ||
	       !strncmp(name, "ObjectMonitor::", strlen("ObjectMonitor::")) ||
	       !strncmp(name, "JavaThread::", strlen("JavaThread::"));
}

static void add_java(struct wait_guess *guess, const char *name)
{
	for (size_t i = 0; i < COUNT(java_functions); i++)
		if (!strcmp(name, java_functions[i].name) && java_functions[i].rank > guess->rank)
			*guess = (struct wait_guess){ .cause = java_functions[i].cause,
						      .rank = java_functions[i].rank };
}

void wait_guess_add(struct wait_guess *guess, const char *name, const char *library, bool is_kernel)
{
	const char *call = skip_prefixes(name);
	size_t length = strcspn(call, ".@ (+");

	if (!strncmp(library, java_locks, strlen(java_locks)))
		add_java(guess, name);
	if (!is_kernel && !enters_kernel(name, library))
		return;
	for (size_t i = 0; i < COUNT(functions); i++) {
		size_t wanted = strlen(functions[i].name);

		if (strncmp(call, functions[i].name, wanted) != 0 ||
		    (length != wanted && !functions[i].is_prefix))
			continue;
		if (functions[i].rank > guess->rank)
			*guess = (struct wait_guess){
				.cause = functions[i].cause,
				.call = functions[i].cause == WAIT_SYSCALL ? functions[i].name
									   : NULL,
				.rank = functions[i].rank,
				.function = functions[i].name,
			};
		return;
	}
}

/* Causes of a wait for descriptors: it waits for one of them, or for its timer. */
static const uint32_t ready_causes = 1u << WAIT_IDLE | 1u << WAIT_TIMER | 1u << WAIT_SLEEP |
				     1u << WAIT_ACCEPT | 1u << WAIT_SOCKET_READ |
				     1u << WAIT_SOCKET_WRITE | 1u << WAIT_PIPE_READ |
				     1u << WAIT_PIPE_WRITE | 1u << WAIT_SEMAPHORE | 1u << WAIT_FILE;

static const uint32_t futex_causes = 1u << WAIT_LOCK | 1u << WAIT_CONDITION | 1u << WAIT_SEMAPHORE |
				     1u << WAIT_CHILD | 1u << WAIT_GIL | 1u << WAIT_SLEEP;

bool wait_guess_refine(const struct wait_guess *guess, uint32_t *cause, bool is_futex)
{
	if (guess->rank <= RANK_VAGUE)
		return guess->cause == WAIT_LOCK ? is_futex : !guess->rank || !is_futex;
	if (is_futex) {
		*cause = guess->cause;
		return futex_causes >> guess->cause & 1;
	}
	return *cause == guess->cause || (guess->cause == WAIT_IDLE && ready_causes >> *cause & 1);
}
