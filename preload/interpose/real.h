/* The next definitions of interposed functions: in the C library, or in another preload after this one. */
#ifndef PRELOAD_INTERPOSE_REAL_H
#define PRELOAD_INTERPOSE_REAL_H

#include <aio.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* Marks an interposer, which the program calls instead of the C library's function. Its name must be in exports.map
 * too. All are in one section, by which they are recognized (core/preload_code.h). */
#define EXPORT __attribute__((visibility("default"), section("asprof_calls")))

/* Rarely used code, in a separate section. */
#define COLD __attribute__((noinline, cold))

/* Functions of programs built with _FORTIFY_SOURCE; no header declares them. */
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		const sigset_t *mask, size_t size);
ssize_t __read_chk(int fd, void *data, size_t length, size_t size);
ssize_t __pread_chk(int fd, void *data, size_t length, off_t offset, size_t size);
ssize_t __pread64_chk(int fd, void *data, size_t length, off_t offset, size_t size);
ssize_t __recv_chk(int fd, void *data, size_t length, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *data, size_t length, size_t size, int flags,
		       struct sockaddr *address, socklen_t *address_length);
void __longjmp_chk(struct __jmp_buf_tag *target, int value); /* returns only if it is missing */

/* Implementation of atexit(3) in a shared library, and registration of C++ destructors; no header declares it. */
int __cxa_atexit(void (*handler)(void *), void *argument, void *library);

/* Starts main(); its caller is the first code of the program. No header declares it. */
int __libc_start_main(int (*main)(int, char **, char **), int count, char **arguments,
		      int (*init)(void), void (*fini)(void), void (*linker_fini)(void),
		      void *stack_end);

/* Other names of sigaction(2) and signal(2) in the C library. */
int __sigaction(int signo, const struct sigaction *action, struct sigaction *old);
__sighandler_t bsd_signal(int signo, __sighandler_t handler);
__sighandler_t __sysv_signal(int signo, __sighandler_t handler);
__sighandler_t sigset(int signo, __sighandler_t handler);

/* sigpause(3) of X/Open, by the name that glibc's header gives it. */
int __xpg_sigpause(int signo);

/* No header of the C library declares it. */
int capset(void *header, const void *data);

/* NULL on musl. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

/* Newer than the oldest supported C library. */
pid_t _Fork(void);
int epoll_pwait2(int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
		 const sigset_t *mask);
int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *mask);

#define REAL_FUNCTIONS(X)             \
	X(__libc_start_main)          \
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
	X(munmap)                     \
	X(siglongjmp)                 \
	X(__longjmp_chk)              \
	X(signalfd)                   \
	X(sigsuspend)                 \
	X(sigpause)                   \
	X(__xpg_sigpause)             \
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
	X(usleep)                     \
	X(sleep)                      \
	X(thrd_sleep)                 \
	X(clock_gettime)              \
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
	X(pread)                      \
	X(pread64)                    \
	X(__pread_chk)                \
	X(__pread64_chk)              \
	X(preadv)                     \
	X(preadv64)                   \
	X(preadv2)                    \
	X(preadv64v2)                 \
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
	X(pwrite)                     \
	X(pwrite64)                   \
	X(pwritev)                    \
	X(pwritev64)                  \
	X(pwritev2)                   \
	X(pwritev64v2)                \
	X(send)                       \
	X(sendto)                     \
	X(sendmsg)                    \
	X(sendmmsg)                   \
	X(connect)                    \
	X(sendfile)                   \
	X(sendfile64)                 \
	X(copy_file_range)            \
	X(fallocate)                  \
	X(fallocate64)                \
	X(posix_fallocate)            \
	X(posix_fallocate64)          \
	X(splice)                     \
	X(close)                      \
	X(fclose)                     \
	X(fopen)                      \
	X(fopen64)                    \
	X(dup2)                       \
	X(dup3)                       \
	X(getrandom)                  \
	X(ioctl)                      \
	X(tcdrain)                    \
	X(tcsendbreak)                \
	X(tcsetattr)                  \
	X(aio_suspend)                \
	X(aio_suspend64)              \
	X(clone)                      \
	X(_Fork)                      \
	X(unshare)                    \
	X(setns)                      \
	X(prctl)                      \
	X(capset)                     \
	X(mlockall)                   \
	X(setrlimit)                  \
	X(prlimit)                    \
	X(setuid)                     \
	X(seteuid)                    \
	X(setreuid)                   \
	X(setresuid)                  \
	X(setgid)                     \
	X(setegid)                    \
	X(setregid)                   \
	X(setresgid)                  \
	X(setgroups)                  \
	X(initgroups)                 \
	X(syscall)

/* dlsym(3) without a version returns each function's default version. Only quick_exit has an older version with
 * another behavior: before glibc 2.24 it also ran the thread's destructors. */
/* sigset, sigignore and sigpause are deprecated; programs still use them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct real {
#define REAL_FIELD(name) __typeof__(&(name)) name;
	REAL_FUNCTIONS(REAL_FIELD)
#undef REAL_FIELD
};
#pragma GCC diagnostic pop

/* Use REAL(name): a member may not be set yet. */
extern struct real real;

/* Find NAME and store it in PLACE, a member of `real`. Never returns NULL: if the C library has no such function,
 * the result fails with ENOSYS. Any thread, any number of times, also in signal handlers: a function that a program
 * calls is in a module that it began with, so no lock is waited for. */
void *real_find(void **place, const char *name);

/* Find all of them now that are in modules that the program started with, so that later no thread calls the dynamic
 * linker. Takes no lock. */
void real_find_all(void);

/* The next definition of NAME, found at its first use: most programs need few of them. */
#define REAL(name)                                                                            \
	({                                                                                    \
		__typeof__(real.name) known_ = __atomic_load_n(&real.name, __ATOMIC_RELAXED); \
                                                                                              \
		if (__builtin_expect(!known_, 0))                                             \
			known_ = (__typeof__(known_))real_find((void **)&real.name, #name);   \
		known_;                                                                       \
	})

/* True when P points into this library: calls by the agent itself are not treated as the program's. */
static inline bool is_agent_code(const void *p)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	extern const char _end[] __attribute__((visibility("hidden")));

	return (const char *)p >= __ehdr_start && (const char *)p < _end;
}

#endif
