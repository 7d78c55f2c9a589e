/* Replacements for the C library's functions on descriptors, for async-profiler. */
#include "asyncprof/fd_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asyncprof/fd_proxy.h"
#include "asyncprof/memory_calls.h"
#include "asyncprof/owner_process.h"
#include "asyncprof/thread_names.h"
#include "asyncprof/timer_calls.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"
#include "core/memory/region.h"
#include "core/shared.h"
#include "core/system.h"

static atomic_bool is_perf_allowed, has_perf_events;

void fd_calls_allow_perf_events(bool allow)
{
	atomic_store(&is_perf_allowed, allow);
}

bool fd_calls_have_perf_events(void)
{
	return atomic_load(&has_perf_events);
}

#define ASK(call, ...) fd_proxy_call(call, (const long[FD_PROXY_ARGUMENTS]){ __VA_ARGS__ })

/* Return FD, or a higher duplicate if the program's table has it; -1 with errno on failure. */
static int fd_settle(int fd)
{
	if (fd_proxy_has_own_table())
		return fd;
	fd = fd_raise(fd);
	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

/* Counting perf events. async-profiler's perf events stop after each signal, and the signal handler restarts them by
 * a call on the descriptor. In a thread of the program that call would wait for the proxy. So an event is started
 * once and continues. */
#define COUNTING_MAX 65536

static _Atomic uint64_t counting[COUNTING_MAX / 64]; /* a bit for each descriptor */

static bool event_is_counting(int fd)
{
	return fd >= 0 && fd < COUNTING_MAX && atomic_load(&counting[fd / 64]) >> (fd % 64) & 1;
}

static void event_set_counting(int fd, bool is)
{
	uint64_t bit = UINT64_C(1) << (fd % 64);

	if (fd < 0 || fd >= COUNTING_MAX)
		return;
	if (is)
		atomic_fetch_or(&counting[fd / 64], bit);
	else
		atomic_fetch_and(&counting[fd / 64], ~bit);
}

/* True if PATH is in /proc/self/task: sets the thread, and the path below its directory. */
static bool path_is_of_thread(const char *path, pid_t *tid, const char **name)
{
	static const char threads[] = "/proc/self/task";
	char *end;

	if (strncmp(path, threads, strlen(threads)) != 0)
		return false;
	path += strlen(threads);
	*tid = system_thread();
	*name = "task";
	if (!*path)
		return true;
	*tid = (pid_t)strtol(path + 1, &end, 10);
	*name = end + 1;
	return *path == '/' && *tid > 0 && *end == '/';
}

/* Open a pipe with the stored name of thread TID, which has ended. Returns its read end; ERR without a name. */
static int open_thread_name(pid_t tid, int err)
{
	char name[THREAD_NAME_BYTES];
	size_t length = thread_names_copy(tid, name);
	int ends[2];

	if (!length || pipe2(ends, O_CLOEXEC))
		return err;
	write(ends[1], name, length);
	close(ends[1]);
	return fd_settle(ends[0]);
}

static long do_open(const long a[])
{
	const char *name;
	pid_t tid;
	int fd;

	if (path_is_of_thread((const char *)a[0], &tid, &name)) {
		fd = fd_of_thread(tid, name, (int)a[1]);
		if (fd < 0 && !strcmp(name, "comm"))
			fd = open_thread_name(tid, fd);
		errno = fd < 0 ? -fd : errno;
		return fd < 0 ? -1 : fd;
	}
	return fd_settle(open((const char *)a[0], (int)a[1] | O_CLOEXEC, (mode_t)a[2]));
}

/* MODE is ignored without O_CREAT. */
int engine_open(const char *path, int flags, mode_t mode)
{
	return (int)ASK(do_open, (long)path, flags, (long)mode);
}

int engine_creat(const char *path, mode_t mode)
{
	return engine_open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

static long do_close(const long a[])
{
	event_set_counting((int)a[0], false);
	return close((int)a[0]);
}

int engine_close(int fd)
{
	return (int)ASK(do_close, fd);
}

static long do_read(const long a[])
{
	return read((int)a[0], (void *)a[1], (size_t)a[2]);
}

/* async-profiler's handler reads the count of an event. Without a result it assumes one interval. */
ssize_t engine_read(int fd, void *data, size_t length)
{
	if (event_is_counting(fd) && !fd_proxy_is_local()) {
		errno = EAGAIN;
		return -1;
	}
	return ASK(do_read, fd, (long)data, (long)length);
}

static long do_write(const long a[])
{
	return write((int)a[0], (const void *)a[1], (size_t)a[2]);
}

/* Bytes of an event of the log before its text. */
#define LOG_HEADER_MAX 24

/* True for an event of the log that a thread has started or ended, or has loaded a library. async-profiler writes it to
 * the recording in that thread, and holds a lock of the recording meanwhile. The thread would wait for the proxy. If a
 * signal ended the process then, async-profiler could not finish the recording. The event begins with its length, a padded
 * number of five bytes. */
static bool is_log_of_thread(const uint8_t *data, size_t length)
{
	static const char *const texts[] = { "thread_start: 0x", "thread_end: 0x", "dlopen: " };
	size_t event = 0;

	if (length < LOG_HEADER_MAX)
		return false;
	for (size_t i = 0; i < 5; i++)
		event |= (size_t)(data[i] & 0x7f) << (7 * i);
	if (event != length)
		return false;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		size_t size = strlen(texts[i]), most = LOG_HEADER_MAX + size;

		if (memmem(data, length < most ? length : most, texts[i], size))
			return true;
	}
	return false;
}

/* Between commands and during the start, async-profiler logs to standard output. In a forked child it writes events
 * of threads and libraries to the recording, which is the parent's. */
ssize_t engine_write(int fd, const void *data, size_t length)
{
	const char *text = data;
	int shown = (int)length;

	if (owner_process_is_other() || (length && is_log_of_thread(data, length)))
		return (ssize_t)length;
	if (fd != STDOUT_FILENO)
		return ASK(do_write, fd, (long)data, (long)length);
	while (shown && text[shown - 1] == '\n')
		shown--;
	log_info("async-profiler: %.*s", shown, text);
	return (ssize_t)length;
}

static long do_pwrite(const long a[])
{
	return pwrite((int)a[0], (const void *)a[1], (size_t)a[2], a[3]);
}

ssize_t engine_pwrite(int fd, const void *data, size_t length, off_t offset)
{
	if (owner_process_is_other())
		return (ssize_t)length;
	return ASK(do_pwrite, fd, (long)data, (long)length, offset);
}

static long do_lseek(const long a[])
{
	return lseek((int)a[0], a[1], (int)a[2]);
}

off_t engine_lseek(int fd, off_t offset, int whence)
{
	return ASK(do_lseek, fd, offset, whence);
}

static long do_ftruncate(const long a[])
{
	return ftruncate((int)a[0], a[1]);
}

int engine_ftruncate(int fd, off_t length)
{
	return (int)ASK(do_ftruncate, fd, length);
}

static long do_fadvise(const long a[])
{
	return posix_fadvise((int)a[0], a[1], a[2], (int)a[3]);
}

int engine_fadvise(int fd, off_t offset, off_t length, int advice)
{
	return (int)ASK(do_fadvise, fd, offset, length, advice);
}

static long do_sendfile(const long a[])
{
	return sendfile((int)a[0], (int)a[1], (off_t *)a[2], (size_t)a[3]);
}

ssize_t engine_sendfile(int out, int in, off_t *offset, size_t length)
{
	return ASK(do_sendfile, out, in, (long)offset, (long)length);
}

static long result_to_errno(long result)
{
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

/* Map in the region, also files and buffers of perf events. */
static long do_mmap(const long a[])
{
	long address;

	if (a[0] || !shared->region.start)
		return result_to_errno(kernel_call6(SYS_mmap, a[0], a[1], a[2], a[3], a[4], a[5]));
	address = result_to_errno(region_mmap((size_t)a[1], (int)a[2], (int)a[3], (int)a[4], a[5]));
	if (address != -1)
		region_mark((void *)address, (size_t)a[1], REGION_ENGINE);
	return address;
}

void *engine_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	const long a[] = { (long)address, (long)length, protection, flags, fd, offset };
	long result;

	if (fd >= 0)
		return (void *)fd_proxy_call(do_mmap, a);
	result = do_mmap(a);
	if (result == -1)
		memory_calls_out_of_memory();
	return (void *)result;
}

int engine_munmap(void *address, size_t length)
{
	if (!region_has(address))
		return (int)result_to_errno(
			kernel_call4(SYS_munmap, (long)address, (long)length, 0, 0));
	region_unmap(address, length);
	return 0;
}

static long do_fcntl(const long a[])
{
	return fcntl((int)a[0], (int)a[1], a[2]);
}

int engine_fcntl(int fd, int command, long argument)
{
	return (int)ASK(do_fcntl, fd, command, argument);
}

static long do_ioctl(const long a[])
{
	return ioctl((int)a[0], (unsigned long)a[1], a[2]);
}

static int event_start_counting(int fd)
{
	int err;

	if (event_is_counting(fd))
		return 0;
	err = (int)ASK(do_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
	event_set_counting(fd, !err);
	return err;
}

int engine_ioctl(int fd, unsigned long request, long argument)
{
	if (fd_proxy_has_own_table()) {
		if (request == PERF_EVENT_IOC_REFRESH)
			return event_start_counting(fd);
		if (request == PERF_EVENT_IOC_RESET && event_is_counting(fd))
			return 0;
	}
	return (int)ASK(do_ioctl, fd, (long)request, argument);
}

static long do_pipe(const long a[])
{
	int *ends = (int *)a[0];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	ends[0] = fd_settle(ends[0]);
	ends[1] = fd_settle(ends[1]);
	if (ends[0] >= 0 && ends[1] >= 0)
		return 0;
	close(ends[0] >= 0 ? ends[0] : ends[1]);
	errno = EMFILE;
	return -1;
}

int engine_pipe(int ends[2])
{
	return (int)ASK(do_pipe, (long)ends);
}

/* async-profiler uses a socket only to receive perf events from another process. */
int engine_socket(int domain, int type, int protocol)
{
	(void)domain, (void)type, (void)protocol;
	errno = EACCES;
	return -1;
}

/* A seccomp filter may end the process for this call, which few services need: systemd's default set does not
 * contain it. On failure async-profiler uses timers. */
static bool perf_events_are_allowed(void)
{
	if (atomic_load(&is_perf_allowed) && prctl(PR_GET_SECCOMP) == SECCOMP_MODE_DISABLED)
		return true;
	errno = EPERM;
	return false;
}

/* async-profiler raises the limit at its start, because it needs a descriptor for each thread. The program and its
 * children would see that. So it is raised only when there are too few descriptors. */
static void fd_limit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static long do_memfd(const long a[])
{
	return fd_settle((int)syscall(SYS_memfd_create, a[0], a[1]));
}

static long do_perf(const long a[])
{
	long fd;

	atomic_store(&has_perf_events, true);
	fd = fd_settle((int)syscall(SYS_perf_event_open, a[0], a[1], a[2], a[3], a[4]));

	if (fd >= 0 || errno != EMFILE)
		return fd;
	fd_limit_raise(); /* unless another thread has raised it */
	return fd_settle((int)syscall(SYS_perf_event_open, a[0], a[1], a[2], a[3], a[4]));
}

/* The only signal that async-profiler sends to threads. */
static _Atomic int wall_signal;

int fd_calls_wall_signal(void)
{
	return atomic_load(&wall_signal);
}

/* Wall signals that are pending. async-profiler expects that a pending signal is not queued twice, as with the
 * signals that it chooses by itself. Real-time signals are queued: a thread that waits for a disk would have
 * thousands pending, which count in the user's limit. So no signal is sent to a thread while one is pending there.
 * After LOST_MS the next one is sent: the thread may have ended, and its id may be reused. An entry has the thread's
 * id and the time in ms. */
#define PENDING_MAX     512
#define PENDING_LOST_MS 10000u

static _Atomic uint64_t pending_wall[PENDING_MAX];

void fd_calls_wall_signal_arrived(pid_t tid)
{
	_Atomic uint64_t *entry = &pending_wall[(uint32_t)tid % PENDING_MAX];

	if (atomic_load_explicit(entry, memory_order_relaxed) >> 32 == (uint32_t)tid)
		atomic_store_explicit(entry, 0, memory_order_relaxed);
}

static long wall_signal_send(long process, long tid, long signo)
{
	_Atomic uint64_t *entry = &pending_wall[(uint32_t)tid % PENDING_MAX];
	uint64_t there = atomic_load_explicit(entry, memory_order_relaxed);
	uint32_t now_ms = (uint32_t)(clock_monotonic_ns() / 1000000u);
	long result;

	atomic_store_explicit(&wall_signal, (int)signo, memory_order_relaxed);
	if (there >> 32 == (uint32_t)tid && now_ms - (uint32_t)there < PENDING_LOST_MS)
		return 0;
	/* Before the signal is sent: it may arrive immediately. */
	atomic_store_explicit(entry, (uint64_t)(uint32_t)tid << 32 | now_ms, memory_order_relaxed);
	result = syscall(SYS_tgkill, process, tid, signo);
	if (result)
		fd_calls_wall_signal_arrived((pid_t)tid);
	return result;
}

/* True for calls that make signals. In a forked child async-profiler's hooks still see threads start and end, but
 * timers and events are the parent's. */
static bool call_makes_signals(long number)
{
	return number == SYS_timer_create || number == SYS_timer_settime ||
	       number == SYS_timer_delete || number == SYS_perf_event_open || number == SYS_tgkill;
}

/* async-profiler's hooks of malloc(3) read the thread's id. In a forked child their events are dropped, and the child
 * may be in a sandbox that forbids that call. So each thread has the same id there. */
#define CHILD_THREAD 1

/* By the calling conventions of Linux the six arguments are where those of a variadic function are. Like syscall(2),
 * this passes on undefined values for arguments that a call does not have. */
long engine_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_gettid && owner_process_is_child())
		return CHILD_THREAD;
	if (call_makes_signals(number) && owner_process_is_other()) {
		errno = EPERM;
		return -1;
	}
	if (number == SYS_memfd_create)
		return ASK(do_memfd, a, b);
	if (number == SYS_timer_create)
		return timer_calls_create(b, c);
	if (number == SYS_timer_settime)
		return timer_calls_set(a, c);
	if (number == SYS_timer_delete)
		return timer_calls_delete(a);
	if (number == SYS_tgkill)
		return wall_signal_send(a, b, c);
	if (number == SYS_mmap)
		return (long)engine_mmap((void *)a, (size_t)b, (int)c, (int)d, (int)e, f);
	if (number == SYS_munmap)
		return engine_munmap((void *)a, (size_t)b);
	if (number != SYS_perf_event_open)
		return syscall(number, a, b, c, d, e, f);
	/* 0 is the calling thread; in the proxy that would be another one. */
	return perf_events_are_allowed() ? ASK(do_perf, a, b ? b : system_thread(), c, d, e) : -1;
}
