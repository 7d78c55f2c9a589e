/* What the code that the command shares with the agent says in its log. */
#include "decoder/output/log_capture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"

static int heard = -1; /* a file in memory that is logged to */
static off_t heard_up_to;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void heard_begin(void)
{
	static char path[64]; /* the log keeps it */

	if (heard < 0)
		heard = memfd_create("heard", MFD_CLOEXEC);
	if (heard < 0)
		return;
	heard_up_to = lseek(heard, 0, SEEK_END);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", heard);
	log_open(LOG_WARN, path);
}

static bool next(char *line, size_t size)
{
	char text[2048], *end, *start;
	ssize_t n = heard < 0 ? -1 : pread(heard, text, sizeof(text) - 1, heard_up_to);

	if (n <= 0)
		return false;
	text[n] = '\0';
	end = strchrnul(text, '\n');
	heard_up_to += end - text + 1;
	*end = '\0';
	start = strstr(text, "]: "); /* "asprof-agent[1234]: " */
	snprintf(line, size, "%s", start ? start + 3 : text);
	return true;
}

bool heard_next(char *line, size_t size)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = next(line, size);
	pthread_mutex_unlock(&lock);
	return found;
}
