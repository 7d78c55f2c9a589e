/* Sources opened by path, by the type of their content. */
#include "decoder/input/source_open.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "decoder/bucket/bucket.h"
#include "decoder/input/gunzip.h"
#include "decoder/input/import_source.h"
#include "decoder/input/unzip.h"
#include "decoder/output/message.h"
#include "decoder/output/temp_file.h"

static void handle_bus_error(int sig)
{
	static const char text[] = "asprof-agent: a file was truncated while it was read\n";

	(void)sig;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(1);
}

void source_handle_bus_errors(void)
{
	struct sigaction action = { .sa_handler = handle_bus_error };

	sigaction(SIGBUS, &action, NULL);
}

/* Copy a pipe or similar to an unnamed file, because it cannot be mapped. */
static int stream_copy(int in)
{
	static const size_t size = 1 << 16;
	uint8_t *bytes = malloc(size);
	int fd = temp_file_create(), err = 0;
	ssize_t n = 1;

	if (fd < 0 || !bytes)
		err = fd < 0 ? -errno : -ENOMEM;
	while (!err && n) {
		n = read(in, bytes, size);
		if (n < 0 && errno != EINTR)
			err = -errno;
		else if (n > 0)
			err = fd_write(fd, bytes, (size_t)n, -1);
	}
	free(bytes);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

#define STREAMS_MAX 64

/* Copies of streams. A stream can be read once, so later opens get its copy. */
static struct stream {
	dev_t device;
	ino_t inode;
	int copy;
} streams[STREAMS_MAX];
static unsigned stream_count;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns a descriptor of the copy of FD's content or, if FD is -1, of the content of PATH. */
static int stream_open_copy(int fd, const char *path, const struct stat *status)
{
	int in = -1, copy = -1;

	pthread_mutex_lock(&streams_lock);
	for (unsigned i = 0; i < stream_count && copy < 0; i++)
		if (streams[i].device == status->st_dev && streams[i].inode == status->st_ino)
			copy = fcntl(streams[i].copy, F_DUPFD_CLOEXEC, 0);
	if (copy >= 0)
		goto out;
	in = fd >= 0 ? fd : open(path, O_RDONLY | O_CLOEXEC);
	copy = in < 0 ? -errno : stream_copy(in);
	if (copy >= 0 && stream_count < STREAMS_MAX)
		streams[stream_count++] = (struct stream){
			.device = status->st_dev,
			.inode = status->st_ino,
			.copy = fcntl(copy, F_DUPFD_CLOEXEC, 0),
		};
	if (in >= 0 && in != fd)
		close(in);
out:
	pthread_mutex_unlock(&streams_lock);
	return copy;
}

static int source_open_path(const char *path)
{
	int standard_input = strcmp(path, "-") ? -1 : STDIN_FILENO, fd;
	struct stat status;

	if (bucket_is_url(path))
		return bucket_open_object(path);
	if (standard_input >= 0 ? fstat(standard_input, &status) : stat(path, &status))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode))
		return stream_open_copy(standard_input, path, &status);
	fd = standard_input >= 0 ? fcntl(standard_input, F_DUPFD_CLOEXEC, 0)
				 : open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

void source_copy_stream(const char *path)
{
	int fd = source_open_path(path);

	if (fd >= 0) /* otherwise source_open() prints the error */
		close(fd);
}

/* Time of the last change of FD, in ns since 1970. */
static int64_t modified_ns(int fd)
{
	struct stat status;

	return fstat(fd, &status) || status.st_mtim.tv_sec < 0 || status.st_mtim.tv_sec > 4000000000
		       ? 0
		       : (int64_t)clock_time_ns(&status.st_mtim);
}

int source_open_fd(struct source **out, const char *name, int fd)
{
	int err = source_create(out, name, fd);

	if (err)
		message_print("%s: %s", name, strerror(-err));
	else if ((*out)->length >= 4 && !memcmp((*out)->data, "\x1f\x8b\x08", 3))
		err = gunzip_recording(out);
	if (!err && (*out)->length >= 4 && !memcmp((*out)->data, "PK", 2))
		return unzip_recordings(out);
	return err ? err : import_source(out, modified_ns(fd));
}

int source_open(struct source **out, const char *path)
{
	const char *name = strcmp(path, "-") ? path : "standard input";
	int fd = source_open_path(path), err;

	*out = NULL;
	if (fd < 0) {
		if (!bucket_is_url(path)) /* for a bucket a message was printed */
			message_print("%s: %s", name, strerror(-fd));
		return fd;
	}
	err = source_open_fd(out, name, fd);
	close(fd);
	return err;
}
