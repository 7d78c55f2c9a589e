/* What async-profiler calls instead of the C library's functions on descriptors. In a thread of the
 * program's they are done in one of ours (asyncprof/fd_proxy.h), so that nothing that async-profiler
 * opens is ever in the program's table, nor anything of the program's in its hands. Where the agent
 * has no table of its own, its descriptors are numbered high as soon as they are there. */
#ifndef ASYNCPROF_FD_CALLS_H
#define ASYNCPROF_FD_CALLS_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether it has, or has had, any: their signals may come whenever. */
bool fd_calls_have_perf_events(void);

/* It is about to stop: have no thread that begins get a timer that it would not find any more, until the share of signals
 * is open again (core/signal_share.h). */
void files_make_no_timers(void);

/* May it have perf events? Without, which is how it begins, it takes timers for the CPU time. */
void fd_calls_allow_perf_events(bool allow);

int engine_open(const char *path, int flags, mode_t mode);
int engine_creat(const char *path, mode_t mode);
int engine_close(int fd);
ssize_t engine_read(int fd, void *data, size_t length);
ssize_t engine_write(int fd, const void *data, size_t length);
ssize_t engine_pwrite(int fd, const void *data, size_t length, off_t offset);
off_t engine_lseek(int fd, off_t offset, int whence);
int engine_ftruncate(int fd, off_t length);
int engine_fadvise(int fd, off_t offset, off_t length, int advice);
ssize_t engine_sendfile(int out, int in, off_t *offset, size_t length);
void *engine_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int engine_fcntl(int fd, int command, long argument);
int engine_ioctl(int fd, unsigned long request, long argument);
int engine_pipe(int ends[2]);
int engine_socket(int domain, int type, int protocol);
long engine_syscall(long number, long a, long b, long c, long d, long e, long f);

/* The signal by which async-profiler has a thread sample its wall clock; 0: not known, as it has not yet. */
int fd_calls_wall_signal(void);

/* One of them has come to thread TID. Async-signal-safe. */
void fd_calls_wall_signal_arrived(pid_t tid);

#endif
