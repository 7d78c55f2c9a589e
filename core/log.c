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

/* Longer lines are cut: paths and error texts fit. */
#define LINE_MAX_BYTES 1024

static struct {
	enum log_level level;
	int fd; /* -1: nowhere */
	/* What descriptor 2 was when the log was opened; unused when fd is our own file. */
	dev_t dev;
	ino_t ino;
	bool own;
} sink = { .level = LOG_WARN, .fd = -1 };

int log_open(enum log_level level, const char *path)
{
	struct stat st;
	int fd;

	sink.level = level;
	if (path) {
		fd = fd_raise(
			open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644));
		if (fd < 0)
			return fd;
		sink.fd = fd;
		sink.own = true;
		return 0;
	}
	if (fstat(STDERR_FILENO, &st))
		return 0; /* no stderr: say nothing */
	sink.fd = STDERR_FILENO;
	sink.dev = st.st_dev;
	sink.ino = st.st_ino;
	return 0;
}

static bool sink_is_ours(void)
{
	struct stat st;

	if (sink.own)
		return true;
	return sink.fd >= 0 && !fstat(sink.fd, &st) && st.st_dev == sink.dev &&
	       st.st_ino == sink.ino;
}

/* A reader of stderr that went away must not kill the program with our SIGPIPE. */
static void write_line(const char *line, size_t length)
{
	static const struct timespec at_once;
	sigset_t pipe, before, pending;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	/* A log that cannot be written has nowhere to say so. */
	while (write(sink.fd, line, length) < 0 && errno == EINTR)
		;
	if (!sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe, NULL, &at_once) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void say(enum log_level level, const char *format, va_list args)
{
	char line[LINE_MAX_BYTES];
	int saved = errno, head, body;
	size_t length;

	if (level > sink.level || !sink_is_ours())
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
	write_line(line, length);
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
