/* pull: downloads reports from a bucket. */
#include "decoder/bucket/bucket.h"
#include "decoder/commands/args.h"
#include "decoder/input/source_open.h"
#include "decoder/output/progress.h"
#include "decoder/output/message.h"
#include "profile/basics/array.h"
#include "profile/basics/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "upload/files/dir.h"
#include "upload/files/temporary.h"

static const struct command_option own_options[] = {
	{ "-o", "DIR", "directory; made if missing (working directory)", ARG_STRING,
	  offsetof(struct args, output) },
	{ 0 },
};

const struct command_option *const pull_options[] = {
	own_options, args_period, args_sources, args_bucket, NULL,
};

struct pull {
	const struct args *args;
	const char *dir;
	char **paths;
	uint32_t count, room;

	uint32_t fetched, present, excluded, failed;
	uint64_t bytes;
};

static int pull_add_path(void *arg, const char *path)
{
	struct pull *pull = arg;

	if (array_reserve(&pull->paths, &pull->room, pull->count, sizeof(*pull->paths)))
		return -ENOMEM;
	pull->paths[pull->count] = strdup(path);
	return pull->paths[pull->count++] ? 0 : -ENOMEM;
}

/* Returns the local name of PATH, found below URL: the part after the last "/" of URL's prefix.
 * Returns NULL if the name would be outside of the directory, hidden, or contain control characters. */
static const char *local_file_name(const char *url, const char *path)
{
	size_t bucket = strcspn(url + strlen("s3://"), "/") + strlen("s3://");
	const char *slash = strrchr(url + bucket, '/'), *name, *part;

	name = path + bucket + 1 + (slash ? (size_t)(slash - (url + bucket)) : 0);
	for (part = name;; part++) {
		if (*part == '.' || *part == '/' || !*part)
			return NULL;
		part = strchrnul(part, '/');
		if (!*part)
			break;
	}
	for (part = name; *part; part++)
		if ((unsigned char)*part < ' ' || *part == 0x7f)
			return NULL;
	return name;
}

/* Whether FILE is already a copy of OBJECT. */
static bool file_is_current(const char *file, const struct object *object)
{
	struct stat st;

	return !stat(file, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size == object->bytes &&
	       (!object->modified || st.st_mtime == object->modified);
}

/* Whether the selection includes the object at PATH, whose content is FD: 1, 0, or -errno after a message if that
 * cannot be read. */
static int object_is_selected(const struct pull *pull, const char *path, int fd)
{
	struct source *source, *next;
	bool selected = false;
	int failure = 0, err;

	if (!selection_is_set(&pull->args->selection))
		return 1;
	err = source_open_fd(&source, path, fd);
	if (err)
		return err;
	for (; source; source = next) {
		next = source->next;
		err = source_load(source);
		if (err)
			failure = err;
		else
			selected |= selection_matches(&pull->args->selection, source);
		source_close(source);
	}
	return selected ? 1 : failure;
}

/* Copy IN to NAME in DIR, atomically. */
static int file_write(int dir, const char *name, int in, const struct object *object)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = (time_t)object->modified } };
	char temporary[NAME_FILE_SIZE];
	int out = temporary_create(dir, 0644, temporary), err;

	if (out < 0)
		return out;
	err = fd_copy(out, in, 0, object->bytes);
	if (!err && object->modified && futimens(out, times))
		err = -errno;
	err = temporary_close(dir, temporary, out, err);
	if (!err && renameat(dir, temporary, dir, name)) {
		err = -errno;
		unlinkat(dir, temporary, 0);
	}
	return err;
}

static int file_write_path(const char *file, int in, const struct object *object)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(file, '/');
	int dir, err;

	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - file), file);
	dir = dir_make(folder, 0755);
	if (dir < 0)
		return dir;
	err = file_write(dir, slash + 1, in, object);
	close(dir);
	return err;
}

static void pull_object(struct pull *pull, const char *path, const char *name)
{
	const struct object *object = bucket_find_object(path);
	char file[PATH_MAX];
	int fd, err, selected;

	if ((size_t)snprintf(file, sizeof(file), "%s/%s", pull->dir, name) >= sizeof(file)) {
		message_print("%s: its name is too long for %s", path, pull->dir);
		pull->failed++;
		return;
	}
	if (file_is_current(file, object)) {
		pull->present++;
		return;
	}
	fd = bucket_open_object(path);
	if (fd < 0) {
		pull->failed++;
		return;
	}
	selected = object_is_selected(pull, path, fd);
	pull->excluded += selected == 0;
	pull->failed += selected < 0;
	if (selected <= 0)
		goto out;
	err = file_write_path(file, fd, object);
	if (err) {
		message_print("%s: %s", file, strerror(-err));
		pull->failed++;
		goto out;
	}
	pull->fetched++;
	pull->bytes += object->bytes;
out:
	close(fd);
}

static void pull_objects(struct pull *pull, const char *url)
{
	struct progress progress;

	progress_start(&progress);
	for (uint32_t i = 0; i < pull->count; i++) {
		const char *name = local_file_name(url, pull->paths[i]);

		if (name) {
			pull_object(pull, pull->paths[i], name);
		} else {
			message_print("%s: skipped, as no local file can have that name",
				      pull->paths[i]);
			pull->failed++;
		}
		progress_show(&progress, "%u of %u", i + 1, pull->count);
	}
	progress_clear(&progress);
}

static void pull_free_paths(struct pull *pull)
{
	while (pull->count)
		free(pull->paths[--pull->count]);
}

static int pull_url(struct pull *pull, const char *url)
{
	const struct selection *selection = &pull->args->selection;
	int err;

	if (!bucket_is_url(url)) {
		message_print("pull: %s is not a bucket; name one as s3://BUCKET/PREFIX", url);
		return COMMAND_USAGE;
	}
	err = bucket_list_objects(url, &selection->uploads, &selection->bucket, pull_add_path,
				  pull);
	pull_objects(pull, url);
	pull_free_paths(pull);
	return err ? COMMAND_FAILED : COMMAND_OK;
}

static void pull_print_result(const struct pull *pull)
{
	char bytes[TEXT_NUMBER];

	print_clean("%u reports downloaded to %s, %s", pull->fetched, pull->dir,
		    text_bytes(bytes, (double)pull->bytes));
	if (pull->present)
		printf("; %u existed", pull->present);
	if (pull->excluded)
		printf("; %u are of another process, host or tag", pull->excluded);
	if (pull->failed)
		printf("; %u failed", pull->failed);
	putchar('\n');
}

int cmd_pull(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct pull pull = { .args = &args };
	int status = args_parse(&args, argc, argv, pull_options), worst = status;

	pull.dir = args.output ? args.output : ".";
	for (int i = 0; i < args.file_count && status == COMMAND_OK && worst != COMMAND_USAGE;
	     i++) {
		int one = pull_url(&pull, args.files[i]);

		worst = one ? one : worst;
	}
	if (status == COMMAND_OK && worst != COMMAND_USAGE)
		pull_print_result(&pull);
	free(pull.paths);
	args_free(&args);
	return pull.failed && worst == COMMAND_OK ? COMMAND_FAILED : worst;
}
