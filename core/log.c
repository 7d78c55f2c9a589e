/* The agent's few words to the operator. A line is formatted whole and written with one
 * write(2), so that lines of several threads and processes do not mix. */
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/own_fds.h"

/* Longer lines are cut: paths and error texts fit. */
#define LINE_MAX_BYTES 1024

static struct {
	enum log_level level;
	int fd; /* of the program; -1: nowhere */
	/* What it was when the log was opened. */
	dev_t dev;
	ino_t ino;
} sink = { .level = LOG_WARN, .fd = -1 };

int log_open(enum log_level level, const char *path)
{
	struct stat st;
	int fd = STDERR_FILENO;

	sink.level = level;
	if (path) {
		fd = fd_raise(
			open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644));
		if (fd < 0)
			return fd;
	}
	if (fstat(fd, &st))
		return 0; /* no stderr: say nothing */
	sink.fd = fd;
	sink.dev = st.st_dev;
	sink.ino = st.st_ino;
	return 0;
}

static bool is_sink(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == sink.dev && st.st_ino == sink.ino;
}

/* A reader of stderr that went away must not kill the program with our SIGPIPE. */
static void write_line(int fd, const char *line, size_t length)
{
	static const struct timespec at_once;
	sigset_t pipe, before, pending;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	/* A log that cannot be written has nowhere to say so. */
	while (write(fd, line, length) < 0 && errno == EINTR)
		;
	if (!sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe, NULL, &at_once) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The program may have put something else at that number. */
static void write_to_sink(const char *line, size_t length)
{
	bool apart = own_fds_apart();
	int fd = apart ? own_fds_of_program(sink.fd) : sink.fd;

	if (fd < 0)
		return;
	if (is_sink(fd))
		write_line(fd, line, length);
	if (apart)
		close(fd);
}

static void say(enum log_level level, const char *format, va_list args)
{
	char line[LINE_MAX_BYTES];
	int saved = errno, head, body;
	size_t length;

	if (level > sink.level || sink.fd < 0)
		goto out;
	head = snprintf(line, sizeof(line), "asprof-agent[%d]: ", getpid());
	body = vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, args);
	if (body < 0)
		goto out;
	length = strlen(line);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)line[i] < ' ') /* words of a server may be among them */
			line[i] = ' ';
	line[length++] = '\n';
	write_to_sink(line, length);
out:
	errno = saved;
}

#define LOG_FUNCTION(name, level)          \
	void name(const char *format, ...) \
	{                                  \
		va_list args;              \
                                           \
		va_start(args, format);    \
		say(level, format, args);  \
		va_end(args);              \
	}

LOG_FUNCTION(log_error, LOG_ERROR)
LOG_FUNCTION(log_warn, LOG_WARN)
LOG_FUNCTION(log_info, LOG_INFO)
LOG_FUNCTION(log_debug, LOG_DEBUG)
