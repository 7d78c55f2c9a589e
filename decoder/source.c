/* One recording, mapped. */
#include "decoder/source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "decoder/say.h"
#include "decoder/unzip.h"

#define PAGE 4096u

static void on_bus_error(int sig)
{
	static const char text[] = "asprof-agent: a file was cut off while it was read\n";

	(void)sig;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(1);
}

void source_guard(void)
{
	struct sigaction action = { .sa_handler = on_bus_error };

	sigaction(SIGBUS, &action, NULL);
}

int source_map(struct source **out, const char *name, int fd)
{
	struct source *source = NULL;
	struct stat status;
	void *data = NULL;
	int err = 0;

	if (fstat(fd, &status))
		return -errno;
	if (status.st_size) {
		data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED)
			return -errno;
		madvise(data, (size_t)status.st_size, MADV_SEQUENTIAL);
	}
	source = calloc(1, sizeof(*source));
	if (source)
		source->name = strdup(name);
	if (!source || !source->name) {
		err = -ENOMEM;
		goto out;
	}
	source->data = data;
	source->length = (uint64_t)status.st_size;
	data = NULL;
	*out = source;
	source = NULL;
out:
	if (data)
		munmap(data, (size_t)status.st_size);
	free(source);
	return err;
}

void source_close(struct source *source)
{
	if (source->data)
		munmap((void *)source->data, source->length);
	free(source->name);
	free(source->labels);
	free(source);
}

void source_forget(const uint8_t *data, uint64_t from, uint64_t upto)
{
	uintptr_t start = ((uintptr_t)data + from + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	uintptr_t end = ((uintptr_t)data + upto) & ~(uintptr_t)(PAGE - 1);

	if (end > start)
		madvise((void *)start, end - start, MADV_DONTNEED);
}

int source_spare_file(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("asprof-agent", MFD_CLOEXEC);
}

/* Pipes and the like cannot be mapped: their content goes to an unnamed file first. */
static int copy_stream(int in)
{
	static const size_t size = 1 << 16;
	uint8_t *bytes = malloc(size);
	int fd = source_spare_file(), err = 0;
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

static int open_path(const char *path)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	int copy, err = 0;

	if (fd < 0 || fstat(fd, &status))
		return -errno;
	if (S_ISREG(status.st_mode))
		return fd;
	if (S_ISDIR(status.st_mode))
		copy = -EISDIR;
	else
		copy = copy_stream(fd);
	if (!standard)
		close(fd);
	/* A stream is read once; whoever asks again shall find its copy. */
	if (standard && copy >= 0) {
		if (dup2(copy, STDIN_FILENO) < 0)
			err = -errno;
		close(copy);
		copy = err ? err : STDIN_FILENO;
	}
	return copy;
}

int source_open(struct source **out, const char *path)
{
	const char *name = strcmp(path, "-") ? path : "standard input";
	int fd = open_path(path), err;

	*out = NULL;
	if (fd < 0) {
		say("%s: %s", name, strerror(-fd));
		return fd;
	}
	err = source_map(out, name, fd);
	if (fd != STDIN_FILENO)
		close(fd);
	if (err)
		say("%s: %s", name, strerror(-err));
	else if ((*out)->length >= 4 && !memcmp((*out)->data, "PK", 2))
		err = unzip_recordings(out);
	return err;
}
