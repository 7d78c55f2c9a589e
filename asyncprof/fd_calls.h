/* Replacements for the C library's functions on descriptors, for async-profiler.
 *
 * In a thread of the program they run in the descriptor proxy (asyncprof/fd_proxy.h). So the program's table never
 * has a descriptor of async-profiler, and async-profiler never has one of the program. If the engine has no table of
 * its own, new descriptors get high numbers immediately. */
#ifndef ASYNCPROF_FD_CALLS_H
#define ASYNCPROF_FD_CALLS_H

#include <stdbool.h>
#include <sys/types.h>

/* True after async-profiler asked for a perf event: its signals may come at any time. */
bool fd_calls_have_perf_events(void);

/* Set whether async-profiler may have perf events; at first it may not. Without them it samples CPU time by timers. */
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
int engine_munmap(void *address, size_t length);
int engine_fcntl(int fd, int command, long argument);
int engine_ioctl(int fd, unsigned long request, long argument);
int engine_pipe(int ends[2]);
int engine_socket(int domain, int type, int protocol);
long engine_syscall(long number, long a, long b, long c, long d, long e, long f);

/* The pace of wall signals. It is here because async-profiler sends them by syscall(2), which engine_syscall() replaces:
 * it sends no second signal to a thread while one is pending there.
 *
 * Return the signal by which async-profiler takes wall samples; 0 before the first one. */
int fd_calls_wall_signal(void);

/* The wall signal has arrived in thread TID: the next one may be sent. Async-signal-safe. */
void fd_calls_wall_signal_arrived(pid_t tid);

#endif
