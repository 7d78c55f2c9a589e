/* What the code that the command shares with the agent says in its log. */
#include "decoder/output/log_capture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"

static int capture_fd = -1; /* a file in memory that is logged to */
static off_t read_offset;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void log_capture_start(void)
{
	static char path[64]; /* the log keeps it */

	if (capture_fd < 0)
		capture_fd = memfd_create("heard", MFD_CLOEXEC);
	if (capture_fd < 0)
		return;
	read_offset = lseek(capture_fd, 0, SEEK_END);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", capture_fd);
	log_open(LOG_WARN, path);
}

static bool next(char *line, size_t size)
{
	char text[2048], *end, *start;
	ssize_t n = capture_fd < 0 ? -1 : pread(capture_fd, text, sizeof(text) - 1, read_offset);

	if (n <= 0)
		return false;
	text[n] = '\0';
	end = strchrnul(text, '\n');
	read_offset += end - text + 1;
	*end = '\0';
	start = strstr(text, "]: "); /* "asprof-agent[1234]: " */
	snprintf(line, size, "%s", start ? start + 3 : text);
	return true;
}

bool log_capture_next_line(char *line, size_t size)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = next(line, size);
	pthread_mutex_unlock(&lock);
	return found;
}
