/* Output of a command: a file that is replaced atomically, or standard output. */
#include "decoder/output/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/output/message.h"

/* Whether PATH is a pipe, a terminal or a device. These cannot be replaced, so they are written directly. */
static int path_is_special(const char *path)
{
	struct stat status;

	return !stat(path, &status) && !S_ISREG(status.st_mode);
}

static int output_open_temporary(struct output *output)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0) {
		output->temporary = NULL;
		return -ENOMEM;
	}
	fd = mkstemp(output->temporary);
	if (fd < 0)
		return -errno;
	fchmod(fd, 0666 & ~mask);
	output->file = fdopen(fd, "w");
	if (output->file)
		return 0;
	close(fd);
	unlink(output->temporary);
	return -ENOMEM;
}

int output_open(struct output *output, const char *path)
{
	int err = 0;

	*output = (struct output){ 0 };
	if (!path || !strcmp(path, "-")) {
		output->file = stdout;
		return 0;
	}
	output->path = path;
	if (path_is_special(path)) {
		output->file = fopen(path, "we");
		err = output->file ? 0 : -errno;
	} else {
		err = output_open_temporary(output);
	}
	if (err) {
		message_print("%s: %s", path, strerror(-err));
		free(output->temporary);
		output->temporary = NULL;
	}
	return err;
}

int output_close(struct output *output)
{
	int err = 0;

	if (output->file == stdout)
		return 0;
	if (fflush(output->file) || ferror(output->file))
		err = errno ? -errno : -EIO;
	if (fclose(output->file) && !err)
		err = -errno;
	if (!err && output->temporary && rename(output->temporary, output->path))
		err = -errno;
	if (err) {
		/* EPIPE: the reader has closed the pipe on purpose. */
		if (err != -EPIPE)
			message_print("%s: %s", output->path, strerror(-err));
		if (output->temporary)
			unlink(output->temporary);
	}
	free(output->temporary);
	output->temporary = NULL;
	return err;
}
