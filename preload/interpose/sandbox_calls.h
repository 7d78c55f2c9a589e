/* The system calls that the agent makes in a process, for who has to know whether a seccomp filter lets it. */
#ifndef PRELOAD_INTERPOSE_SANDBOX_CALLS_H
#define PRELOAD_INTERPOSE_SANDBOX_CALLS_H

#include <sys/syscall.h>

/* Of older headers. */
#ifndef SYS_rseq
#if defined(__x86_64__)
#define SYS_rseq 334
#else
#define SYS_rseq 293
#endif
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif

/* MUST(name): without it nothing goes on. MAY(name): with an error, less does. */

/* In threads of the program: what handlers of samples and interposers call that the program may never. */
#define SANDBOX_CALLS_OF_PROGRAM(MUST, MAY) \
	MUST(rt_sigreturn)                  \
	MUST(clock_gettime)                 \
	MUST(futex)                         \
	MUST(getpid)                        \
	MUST(gettid)                        \
	MAY(getrandom)                      \
	MAY(getresuid)                      \
	MAY(madvise)                        \
	MAY(mmap)                           \
	MAY(mprotect)                       \
	MAY(munmap)                         \
	MAY(nanosleep)                      \
	MAY(prctl)                          \
	MAY(process_vm_readv)               \
	MAY(process_vm_writev)              \
	MAY(restart_syscall)                \
	MAY(rt_sigaction)                   \
	MAY(rt_sigpending)                  \
	MAY(rt_sigprocmask)                 \
	MAY(rt_sigtimedwait)                \
	MAY(rt_tgsigqueueinfo)              \
	MAY(sched_yield)                    \
	MAY(sigaltstack)                    \
	MAY(tgkill)                         \
	MAY(timer_create)                   \
	MAY(timer_delete)                   \
	MAY(timer_gettime)                  \
	MAY(timer_settime)                  \
	MAY(write)

/* In the agent's own threads, and those that async-profiler has, beyond those. What only some settings bring, as the helper of credential_process, is
 * not among them. */
#if defined(__x86_64__)
#define SANDBOX_OLD_CALLS(MAY) \
	MAY(access)            \
	MAY(arch_prctl)        \
	MAY(getrlimit)         \
	MAY(chmod)             \
	MAY(epoll_create)      \
	MAY(epoll_wait)        \
	MAY(lstat)             \
	MAY(mkdir)             \
	MAY(open)              \
	MAY(pipe)              \
	MAY(poll)              \
	MAY(readlink)          \
	MAY(rename)            \
	MAY(rmdir)             \
	MAY(stat)              \
	MAY(unlink)
#else
#define SANDBOX_OLD_CALLS(MAY)
#endif

#define SANDBOX_CALLS_OF_AGENT(MUST, MAY) \
	MUST(exit)                        \
	MUST(close)                       \
	MUST(read)                        \
	MAY(accept4)                      \
	MAY(bind)                         \
	MAY(capget)                       \
	MAY(capset)                       \
	MAY(clone)                        \
	MAY(clone3)                       \
	MAY(clock_nanosleep)              \
	MAY(close_range)                  \
	MAY(connect)                      \
	MAY(copy_file_range)              \
	MAY(dup3)                         \
	MAY(eventfd2)                     \
	MAY(faccessat)                    \
	MAY(faccessat2)                   \
	MAY(fadvise64)                    \
	MAY(fallocate)                    \
	MAY(fchmod)                       \
	MAY(fchown)                       \
	MAY(fcntl)                        \
	MAY(fdatasync)                    \
	MAY(flock)                        \
	MAY(fstat)                        \
	MAY(fstatfs)                      \
	MAY(fsync)                        \
	MAY(ftruncate)                    \
	MAY(getcwd)                       \
	MAY(getdents64)                   \
	MAY(getegid)                      \
	MAY(geteuid)                      \
	MAY(getgid)                       \
	MAY(getpeername)                  \
	MAY(getpriority)                  \
	MAY(getresgid)                    \
	MAY(getrusage)                    \
	MAY(getsockname)                  \
	MAY(getsockopt)                   \
	MAY(getuid)                       \
	MAY(ioctl)                        \
	MAY(linkat)                       \
	MAY(listen)                       \
	MAY(lseek)                        \
	MAY(memfd_create)                 \
	MAY(mkdirat)                      \
	MAY(mremap)                       \
	MAY(newfstatat)                   \
	MAY(openat)                       \
	MAY(pidfd_getfd)                  \
	MAY(pidfd_open)                   \
	MAY(pipe2)                        \
	MAY(ppoll)                        \
	MAY(pread64)                      \
	MAY(prlimit64)                    \
	MAY(pwrite64)                     \
	MAY(readahead)                    \
	MAY(readlinkat)                   \
	MAY(readv)                        \
	MAY(recvfrom)                     \
	MAY(recvmsg)                      \
	MAY(renameat)                     \
	MAY(renameat2)                    \
	MAY(rseq)                         \
	MAY(sched_getaffinity)            \
	MAY(sched_getscheduler)           \
	MAY(sched_setscheduler)           \
	MAY(sendfile)                     \
	MAY(sendmsg)                      \
	MAY(sendto)                       \
	MAY(set_robust_list)              \
	MAY(set_tid_address)              \
	MAY(setfsgid)                     \
	MAY(setfsuid)                     \
	MAY(setgroups)                    \
	MAY(setpriority)                  \
	MAY(setresgid)                    \
	MAY(setresuid)                    \
	MAY(setsockopt)                   \
	MAY(shutdown)                     \
	MAY(socket)                       \
	MAY(socketpair)                   \
	MAY(statfs)                       \
	MAY(sysinfo)                      \
	MAY(times)                        \
	MAY(uname)                        \
	MAY(unlinkat)                     \
	MAY(unshare)                      \
	MAY(utimensat)                    \
	MAY(writev)                       \
	SANDBOX_OLD_CALLS(MAY)

#endif
