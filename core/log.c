/* The agent's log. A complete line is written with one write(2), so that lines of different threads and processes do
 * not mix. */
#include "core/log.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/disposition.h"
#include "core/executable.h"
#include "core/fd.h"
#include "core/format.h"
#include "core/futex.h"
#include "core/own_fds.h"
#include "core/shared.h"
#include "core/system.h"
#include "core/text/text_clean.h"

/* Longest wait of an agent thread for a slow reader, and of a program thread for the agent: the program's next
 * instruction may abort. */
#define WAIT_NS 100000000u

/* The kernel's signal set, which is smaller than the C library's. */
#define SIGNAL_SET_BYTES 8

/* LOG_FILE, in the agent's table. */
static struct log_file own_log = { .fd = -1 };

enum queued_state { FREE, FILLING, FULL };

static void log_file_set(struct log_file *file, int fd)
{
	struct stat st;

	file->fd = fd >= 0 && !system_stat(fd, &st) ? fd : -1;
	if (file->fd < 0)
		return; /* no stderr: write nothing */
	file->dev = st.st_dev;
	file->ino = st.st_ino;
}

/* False when the program has replaced the file at that number. */
static bool log_file_matches(const struct log_file *file, int fd)
{
	struct stat st;

	return fd >= 0 && !system_stat(fd, &st) && st.st_dev == file->dev && st.st_ino == file->ino;
}

/* False for files that may not be logs. In a directory that others can write to, the path may lead to their file. By
 * a link it may lead to a file of this user that is not a log. */
static bool fd_may_be_log(int fd)
{
	struct stat st;

	if (system_stat(fd, &st))
		return false;
	if (S_ISCHR(st.st_mode))
		return st.st_rdev == makedev(1, 3); /* /dev/null */
	/* A daemon may have dropped root after it opened the log. Only root creates files of root. */
	return (st.st_uid == system_user() || !st.st_uid) &&
	       (S_ISFIFO(st.st_mode) || (S_ISREG(st.st_mode) && st.st_nlink <= 1));
}

/* Opening a FIFO without a reader fails and does not block. */
static int log_path_open(void)
{
	int fd = system_open(shared->log.path,
			     O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW |
				     (process_root_has_changed() ? 0 : O_CREAT),
			     0644);

	if (fd < 0 || fd_may_be_log(fd))
		return fd;
	system_close(fd);
	return -EPERM;
}

int log_open(enum log_level level, const char *path)
{
	shared->log.level = (int)level;
	shared->log.path = NULL;
	log_file_set(&shared->log.standard, STDERR_FILENO);
	return path ? log_use_path(path) : 0;
}

int log_use_path(const char *path)
{
	int fd;

	shared->log.path = path;
	fd = log_path_open();
	if (fd < 0)
		shared->log.path = NULL;
	else
		system_close(fd);
	return fd < 0 ? fd : 0;
}

void log_open_fd(enum log_level level, int fd)
{
	shared->log.level = (int)level;
	shared->log.path = NULL;
	log_file_set(&shared->log.standard, fd);
}

static bool fd_is_writable(int fd, uint64_t timeout_ns)
{
	struct timespec timeout = { .tv_nsec = (long)timeout_ns };
	struct pollfd poll = { .fd = fd, .events = POLLOUT };

	return kernel_call6(SYS_ppoll, (long)&poll, 1, (long)&timeout, 0, SIGNAL_SET_BYTES, 0) >
		       0 &&
	       poll.revents & POLLOUT;
}

static uint64_t signals_pending(void)
{
	uint64_t pending = 0;

	kernel_call4(SYS_rt_sigpending, (long)&pending, SIGNAL_SET_BYTES, 0, 0);
	return pending;
}

static int signal_take_pending(uint64_t set, siginfo_t *info)
{
	static const struct timespec no_wait;
	long got;

	do
		got = kernel_call4(SYS_rt_sigtimedwait, (long)&set, (long)info, (long)&no_wait,
				   SIGNAL_SET_BYTES);
	while (got == -EINTR);
	return (int)got;
}

/* After a write that failed and sent SIGNO, which is blocked. That signal is pending for this thread, and is taken
 * before a signal that is pending for the process. If one was pending for the thread BEFORE, the two were merged: queue
 * it again. */
static void signal_discard(int signo, uint64_t before)
{
	uint64_t set = disposition_bit(signo);
	siginfo_t info;

	if (signal_take_pending(set, &info) == signo && before & set && !(signals_pending() & set))
		kernel_call4(SYS_rt_tgsigqueueinfo, system_process(), system_thread(), signo,
			     (long)&info);
}

/* Write without SIGPIPE and SIGXFSZ: a closed stderr, or a file of the maximum size, must not kill the program. Such a
 * signal that the program receives during the write is kept for it. */
static void fd_write_without_signals(int fd, const char *line, size_t length)
{
	uint64_t set = disposition_bit(SIGPIPE) | disposition_bit(SIGXFSZ), mask, before;
	long err;

	err = kernel_call6(SYS_sendto, fd, (long)line, (long)length, MSG_NOSIGNAL | MSG_DONTWAIT, 0,
			   0);
	if (err != -ENOTSOCK)
		return;
	kernel_call4(SYS_rt_sigprocmask, SIG_BLOCK, (long)&set, (long)&mask, SIGNAL_SET_BYTES);
	before = signals_pending();
	/* A failed write to the log cannot be logged. */
	do
		err = system_write(fd, line, length);
	while (err == -EINTR);
	if (err == -EPIPE)
		signal_discard(SIGPIPE, before);
	else if (err == -EFBIG)
		signal_discard(SIGXFSZ, before);
	kernel_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, SIGNAL_SET_BYTES);
}

static void log_write_line(int fd, const char *line, size_t length)
{
	if (fd_is_writable(fd, own_fds_apart() ? WAIT_NS : 0))
		fd_write_without_signals(fd, line, length);
}

/* False in a thread of async-profiler, which has a third descriptor table. */
static bool log_may_use_standard(void)
{
	return own_fds_here() != OWN_FDS_ENGINE;
}

static void log_write_to_standard(const char *line, size_t length)
{
	bool apart = own_fds_apart();
	int fd = shared->log.standard.fd;

	if (fd < 0)
		return;
	fd = apart ? own_fds_of_program(fd) : fd;
	if (log_file_matches(&shared->log.standard, fd))
		log_write_line(fd, line, length);
	if (apart && fd >= 0)
		system_close(fd);
}

/* Return the descriptor of LOG_FILE in this thread's table; -1 when it cannot be opened any more. */
static int log_open_own(void)
{
	if (!log_file_matches(&own_log, own_log.fd))
		log_file_set(&own_log, log_path_open());
	return own_log.fd;
}

/* In the constructor the program's table is the only one, and no other thread can use the number. */
static void log_write_to_path(const char *line, size_t length)
{
	int fd = log_path_open();

	if (fd < 0)
		return log_write_to_standard(line, length);
	log_write_line(fd, line, length);
	system_close(fd);
}

static struct queued_line *queued_line_reserve(void)
{
	atomic_store(&shared->log.was_used, true);
	for (size_t i = 0; i < QUEUED_LINES_MAX; i++) {
		uint32_t free = FREE;

		if (atomic_compare_exchange_strong(&shared->log.queue[i].state, &free, FILLING))
			return &shared->log.queue[i];
	}
	return NULL;
}

static void queued_line_submit(struct queued_line *line, struct wake *agent)
{
	atomic_store(&line->state, FULL);
	wake_up(agent);
}

static void log_queue_and_wait(const char *text, size_t length, struct wake *agent)
{
	uint64_t until = clock_monotonic_ns() + WAIT_NS;
	struct queued_line *line = queued_line_reserve();

	if (!line)
		return;
	line->format = NULL;
	memcpy(line->text, text, length);
	line->length = length;
	queued_line_submit(line, agent);
	while (atomic_load(&line->state) == FULL)
		if (futex_wait_until(&line->state, FULL, until) == -ETIMEDOUT)
			break;
}

static void log_write_to_sink(const char *line, size_t length)
{
	struct wake *agent = atomic_load(&shared->log.agent);
	int fd;

	if (!shared->log.path || atomic_load(&shared->log.forgotten)) {
		if (agent && !log_may_use_standard())
			log_queue_and_wait(line, length, agent);
		else
			log_write_to_standard(line, length);
	} else if (own_fds_apart()) {
		fd = log_open_own();
		if (fd >= 0)
			log_write_line(fd, line, length);
		else
			log_write_to_standard(line, length);
	} else if (shared->log.in_program.fd >= 0) {
		if (log_file_matches(&shared->log.in_program, shared->log.in_program.fd))
			log_write_line(shared->log.in_program.fd, line, length);
	} else if (agent) {
		log_queue_and_wait(line, length, agent);
	} else {
		log_write_to_path(line, length);
	}
}

/* Sanitize the LENGTH bytes of LINE and append a line end; there is space for it. */
static size_t log_finish_line(char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (line[i] == '\n' || line[i] == '\t')
			line[i] = ' ';
	text_clean(line, length); /* the line may contain names, or answers of servers */
	line[length++] = '\n';
	return length;
}

__attribute__((format(printf, 2, 0))) static size_t format_line(char line[LOG_LINE_MAX],
								const char *format, va_list args)
{
	size_t length = format_text(line, LOG_LINE_MAX, "asprof-agent[%d]: ", system_process());

	length += format_list(line + length, LOG_LINE_MAX - length - 1, format, args);
	return log_finish_line(line, length);
}

static void log_write(enum log_level level, const char *format, va_list args)
{
	char line[LOG_LINE_MAX];

	if ((int)level <= shared->log.level)
		log_write_to_sink(line, format_line(line, format, args));
}

#define LOG_FUNCTION(name, level)               \
	void name(const char *format, ...)      \
	{                                       \
		va_list args;                   \
                                                \
		va_start(args, format);         \
		log_write(level, format, args); \
		va_end(args);                   \
	}

LOG_FUNCTION(log_error, LOG_ERROR)
LOG_FUNCTION(log_warn, LOG_WARN)
LOG_FUNCTION(log_info, LOG_INFO)
LOG_FUNCTION(log_debug, LOG_DEBUG)

void log_warn_later(const char *format, int number)
{
	struct wake *agent = atomic_load(&shared->log.agent);
	struct queued_line *line =
		agent && LOG_WARN <= shared->log.level ? queued_line_reserve() : NULL;

	if (!line)
		return;
	line->format = format;
	line->number = number;
	queued_line_submit(line, agent);
}

void log_queue_for(struct wake *agent)
{
	atomic_store(&shared->log.agent, agent);
	atomic_store(&shared->log.forgotten, false);
}

void log_stop_queueing(void)
{
	atomic_store(&shared->log.agent, NULL);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* log_warn_later() checks the format */
static void queued_line_write(struct queued_line *line)
{
	if (line->format)
		log_warn(line->format, line->number);
	else
		log_write_to_sink(line->text, line->length);
}
#pragma GCC diagnostic pop

void log_write_queued(void)
{
	for (size_t i = 0; i < QUEUED_LINES_MAX; i++) {
		if (atomic_load(&shared->log.queue[i].state) != FULL)
			continue;
		/* The agent thread may not have its own table yet. Without one, share the program's. */
		if (own_fds_leave() && shared->log.path)
			log_share();
		queued_line_write(&shared->log.queue[i]);
		atomic_store(&shared->log.queue[i].state, FREE);
		futex_wake(&shared->log.queue[i].state);
	}
}

void log_share(void)
{
	int fd;

	if (!shared->log.path || shared->log.in_program.fd >= 0)
		return;
	fd = log_path_open();
	log_file_set(&shared->log.in_program, fd < 0 ? fd : fd_raise(fd));
	if (shared->log.in_program.fd < 0)
		shared->log.path = NULL;
}

void log_forget(void)
{
	atomic_store(&shared->log.forgotten, true);
	atomic_store(&shared->log.agent, NULL);
	for (size_t i = 0; i < QUEUED_LINES_MAX && atomic_load(&shared->log.was_used); i++)
		atomic_store(&shared->log.queue[i].state, FREE);
}
