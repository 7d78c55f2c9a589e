/* The functions that stand behind our interposers: those that the program would have called
 * without us, in the C library or in another preload after this one. */
#ifndef PRELOAD_INTERPOSE_REAL_H
#define PRELOAD_INTERPOSE_REAL_H

#include <aio.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* Marks a function that the program is to find in place of the C library's. Its name must be
 * in exports.map too. All stand together, by which they are known (core/preload_code.h). */
#define EXPORT __attribute__((visibility("default"), section("asprof_calls")))

/* What is seldom needed, out of the way. */
#define COLD __attribute__((noinline, cold))

/* What programs built with _FORTIFY_SOURCE call; no header declares them. */
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		const sigset_t *mask, size_t size);
ssize_t __read_chk(int fd, void *data, size_t length, size_t size);
ssize_t __recv_chk(int fd, void *data, size_t length, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *data, size_t length, size_t size, int flags,
		       struct sockaddr *address, socklen_t *address_length);

/* What atexit(3) is in a shared library, and what registers destructors of C++; no header. */
int __cxa_atexit(void (*handler)(void *), void *argument, void *library);

/* Other names that the C library has for sigaction(2) and signal(2). */
int __sigaction(int signo, const struct sigaction *action, struct sigaction *old);
__sighandler_t bsd_signal(int signo, __sighandler_t handler);
__sighandler_t __sysv_signal(int signo, __sighandler_t handler);
__sighandler_t sigset(int signo, __sighandler_t handler);

/* No header of the C library has it. */
int capset(void *header, const void *data);

/* Newer than the oldest C library that we run on. */
pid_t _Fork(void);
int epoll_pwait2(int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
		 const sigset_t *mask);
int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *mask);

#define REAL_FUNCTIONS(X)             \
	X(pthread_create)             \
	X(thrd_create)                \
	X(_exit)                      \
	X(_Exit)                      \
	X(quick_exit)                 \
	X(execve)                     \
	X(execv)                      \
	X(execvp)                     \
	X(execvpe)                    \
	X(fexecve)                    \
	X(execveat)                   \
	X(sigaction)                  \
	X(signal)                     \
	X(sysv_signal)                \
	X(sigset)                     \
	X(sigignore)                  \
	X(pthread_sigmask)            \
	X(sigprocmask)                \
	X(pthread_attr_setsigmask_np) \
	X(sigaltstack)                \
	X(signalfd)                   \
	X(sigsuspend)                 \
	X(sigwait)                    \
	X(sigwaitinfo)                \
	X(sigtimedwait)               \
	X(poll)                       \
	X(__poll_chk)                 \
	X(ppoll)                      \
	X(__ppoll_chk)                \
	X(select)                     \
	X(pselect)                    \
	X(epoll_wait)                 \
	X(epoll_pwait)                \
	X(epoll_pwait2)               \
	X(nanosleep)                  \
	X(clock_nanosleep)            \
	X(pause)                      \
	X(sem_timedwait)              \
	X(sem_clockwait)              \
	X(msgrcv)                     \
	X(msgsnd)                     \
	X(semop)                      \
	X(semtimedop)                 \
	X(setsockopt)                 \
	X(read)                       \
	X(__read_chk)                 \
	X(readv)                      \
	X(recv)                       \
	X(__recv_chk)                 \
	X(recvfrom)                   \
	X(__recvfrom_chk)             \
	X(recvmsg)                    \
	X(recvmmsg)                   \
	X(accept)                     \
	X(accept4)                    \
	X(write)                      \
	X(writev)                     \
	X(send)                       \
	X(sendto)                     \
	X(sendmsg)                    \
	X(sendmmsg)                   \
	X(connect)                    \
	X(sendfile)                   \
	X(copy_file_range)            \
	X(splice)                     \
	X(close)                      \
	X(fclose)                     \
	X(fopen)                      \
	X(dup2)                       \
	X(dup3)                       \
	X(getrandom)                  \
	X(aio_suspend)                \
	X(clone)                      \
	X(_Fork)                      \
	X(unshare)                    \
	X(setns)                      \
	X(prctl)                      \
	X(capset)                     \
	X(setuid)                     \
	X(seteuid)                    \
	X(setreuid)                   \
	X(setresuid)                  \
	X(syscall)

/* dlsym without a version gives each function's default one. Of all of these, only quick_exit
 * has an older version that is another function: it ran the thread's destructors too, before
 * glibc 2.24. */
/* sigset and sigignore are deprecated; programs have them nevertheless. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct real {
#define REAL_FIELD(name) __typeof__(&(name)) name;
	REAL_FUNCTIONS(REAL_FIELD)
#undef REAL_FIELD
};
#pragma GCC diagnostic pop

/* Use REAL(name): this may not be filled in yet. */
extern struct real real;

/* Find NAME, for PLACE in `real`. Never NULL: where the C library has none, a function that fails with
 * ENOSYS. Any thread, any number of times, and in signal handlers too: what a program calls is in a module
 * that it began with, so no lock is waited for. */
void *real_find(void **place, const char *name);

/* All of them now, so that who comes by later need not ask the loader. */
void real_find_all(void);

/* The real NAME: looked for when it is wanted first, since most programs want few of them. */
#define REAL(name)                                                                            \
	({                                                                                    \
		__typeof__(real.name) known_ = __atomic_load_n(&real.name, __ATOMIC_RELAXED); \
                                                                                              \
		if (__builtin_expect(!known_, 0))                                             \
			known_ = (__typeof__(known_))real_find((void **)&real.name, #name);   \
		known_;                                                                       \
	})

/* True when P points into this library: the agent's own calls are not to be treated as the
 * program's. */
static inline bool is_agent_code(const void *p)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	extern const char _end[] __attribute__((visibility("hidden")));

	return (const char *)p >= __ehdr_start && (const char *)p < _end;
}

#endif
