/* Capture of log lines in memory. */
#include "decoder/output/log_capture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"

static int capture_fd = -1; /* memory file that the log is written to; -1: no capture */
static off_t read_offset;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void log_capture_start(void)
{
	if (capture_fd < 0)
		capture_fd = memfd_create("asprof-agent-log", MFD_CLOEXEC);
	if (capture_fd < 0)
		return;
	read_offset = lseek(capture_fd, 0, SEEK_END);
	log_open_fd(LOG_WARN, capture_fd);
}

bool log_capture_next_line(char *line, size_t size)
{
	char text[2048], *end, *start;
	ssize_t n;

	pthread_mutex_lock(&lock);
	n = capture_fd < 0 ? -1 : pread(capture_fd, text, sizeof(text) - 1, read_offset);
	if (n > 0) {
		text[n] = '\0';
		end = strchrnul(text, '\n');
		read_offset += end - text + 1;
		*end = '\0';
		start = strstr(text, "]: "); /* "asprof-agent[1234]: " */
		snprintf(line, size, "%s", start ? start + 3 : text);
	}
	pthread_mutex_unlock(&lock);
	return n > 0;
}
