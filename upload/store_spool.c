/* Reports that wait as files in a directory, for this process or any other. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "upload/dir.h"
#include "upload/spool_note.h"
#include "upload/temporary.h"

/* Others add too, so what the directory holds is looked up this often. */
#define LOOK_INTERVAL_NS 30000000000u
#define NOTE_MAX         (16u << 10)
#define TRIES_MAX        1000

struct spool {
	struct store store;
	int dir;
	uint64_t max_bytes;
	const char *const *names;
	unsigned int count;
	uint64_t looked_ns; /* 0: never */
	struct oldest seen;
};

static int write_note(const struct spool *spool, const struct held *held,
		      char temporary[NAME_FILE_SIZE])
{
	struct buf text = BUF_INIT(NOTE_MAX);
	int fd, err;

	fd = temporary_create(spool->dir, 0600, temporary);
	if (fd < 0)
		return fd;
	err = spool_note_write(&text, held, spool->names, spool->count);
	if (!err)
		err = fd_write(fd, text.data, text.length, -1);
	buf_free(&text);
	return temporary_close(spool->dir, temporary, fd, err);
}

static int write_recording(const struct spool *spool, const struct report *report,
			   char temporary[NAME_FILE_SIZE])
{
	int fd = temporary_create(spool->dir, 0600, temporary);

	if (fd < 0)
		return fd;
	return temporary_close(spool->dir, temporary, fd, report_write(report, fd));
}

/* The note takes the name first: a recording that is there has its note. */
static int name_both(const struct spool *spool, const struct report *report, const char *note,
		     const char *recording)
{
	char name[NAME_FILE_SIZE], json[NAME_FILE_SIZE + 1];
	int err = -EEXIST;

	for (unsigned int try = 0; err == -EEXIST && try < TRIES_MAX; try++) {
		name_file(name, report, try);
		spool_note_name(json, name);
		err = dir_rename_new(spool->dir, note, json);
	}
	if (!err) {
		err = dir_rename_new(spool->dir, recording, name);
		if (err)
			unlinkat(spool->dir, json, 0);
	}
	return err;
}

/* Lock NAME for delivery. Returns its descriptor, or -errno: -EWOULDBLOCK when somebody else
 * has it, -ENOENT when somebody has delivered it meanwhile. */
static int lock_file(int dir, const char *name)
{
	struct stat st;
	int fd, err = 0;

	fd = fd_raise(openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &st))
		err = -errno;
	else if (!st.st_nlink || !S_ISREG(st.st_mode))
		err = -ENOENT;
	if (err)
		close(fd);
	return err ? err : fd;
}

/* Said outright: a forked child may hold the descriptor as well. */
static void unlock_file(int fd)
{
	flock(fd, LOCK_UN);
	close(fd);
}

static void remove_both(const struct spool *spool, const char *name)
{
	char json[NAME_FILE_SIZE + 1];

	spool_note_name(json, name);
	unlinkat(spool->dir, name, 0);
	unlinkat(spool->dir, json, 0);
}

/* What is older than OLDEST (seconds since 1970), and the oldest while there is more than TARGET.
 * Returns how many went; what is being delivered stays. */
static size_t drop_some(struct spool *spool, uint64_t target, int64_t oldest)
{
	struct report_losses *losses = &spool->store.losses;
	size_t dropped = 0;

	for (size_t i = 0; i < spool->seen.count; i++) {
		const struct oldest_file *file = &spool->seen.files[i];
		bool aged = file->seconds < oldest;
		int fd;

		if (spool->seen.total <= target && !aged)
			break;
		fd = lock_file(spool->dir, file->name);
		if (fd < 0)
			continue;
		remove_both(spool, file->name);
		unlock_file(fd);
		spool->seen.total -= file->bytes;
		*(aged ? &losses->aged : &losses->full) += 1;
		losses->dropped_bytes += file->bytes;
		dropped++;
	}
	return dropped;
}

static void keep_limits(struct spool *spool, uint64_t more)
{
	uint64_t now = clock_monotonic_ns(), max = spool->max_bytes;
	uint64_t *held = &spool->store.losses.spooled_bytes;
	int64_t oldest =
		(int64_t)(clock_realtime_ns() / 1000000000u) - (int64_t)(STORE_AGE_MAX_MS / 1000);

	if (spool->looked_ns && now - spool->looked_ns < LOOK_INTERVAL_NS && *held + more <= max)
		return;
	do {
		if (oldest_scan(&spool->seen, spool->dir, NULL))
			return;
		*held = spool->seen.total;
	} while (drop_some(spool, max - more, oldest));
	spool->looked_ns = now;
}

static int put(struct store *store, const struct report *report, unsigned int pending)
{
	struct spool *spool = (struct spool *)store;
	struct held held = { .report = *report, .pending = pending };
	char note[NAME_FILE_SIZE], recording[NAME_FILE_SIZE];
	uint64_t length = report_length(report);
	int err;

	if (length > spool->max_bytes)
		return -EFBIG;
	keep_limits(spool, length);
	err = write_note(spool, &held, note);
	if (err)
		return err;
	err = write_recording(spool, report, recording);
	if (!err) {
		err = name_both(spool, report, note, recording);
		if (err)
			unlinkat(spool->dir, recording, 0);
	}
	if (err)
		unlinkat(spool->dir, note, 0);
	else
		store->losses.spooled_bytes += length;
	return err;
}

static int read_note(const struct spool *spool, const char *name, struct held *out)
{
	char json[NAME_FILE_SIZE + 1], text[NOTE_MAX];
	ssize_t n;
	int fd, err;

	spool_note_name(json, name);
	fd = fd_raise(openat(spool->dir, json, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
	if (fd < 0)
		return fd;
	n = pread(fd, text, sizeof(text), 0);
	err = n < 0 ? -errno : spool_note_read(out, text, (size_t)n, spool->names, spool->count);
	close(fd);
	return err;
}

static int take_file(struct spool *spool, const struct oldest_file *file, unsigned int bit,
		     struct held *out)
{
	int fd = lock_file(spool->dir, file->name), err;
	struct stat st;

	if (fd < 0)
		return fd;
	memset(out, 0, sizeof(*out));
	err = read_note(spool, file->name, out);
	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err && !(out->pending & bit))
		err = -ENOENT;
	if (err) {
		unlock_file(fd);
		return err;
	}
	out->store = &spool->store;
	out->file = *file;
	out->report.executable = out->executable;
	out->report.engine = out->engine;
	out->report.engine_version = out->engine_version;
	out->report.group = out->group[0] ? out->group : NULL;
	out->report.tags = out->tags;
	out->report.part_count = 1;
	out->report.parts[0] = (struct report_part){ .fd = fd, .length = (uint64_t)st.st_size };
	return 0;
}

/* Those that cannot be taken now are passed over. */
static int take(struct store *store, unsigned int bit, struct held *out)
{
	struct spool *spool = (struct spool *)store;
	struct oldest_file after;
	int err;

	err = oldest_scan(&spool->seen, spool->dir, NULL);
	while (!err && spool->seen.count) {
		for (size_t i = 0; i < spool->seen.count; i++)
			if (!take_file(spool, &spool->seen.files[i], bit, out))
				return 0;
		after = spool->seen.files[spool->seen.count - 1];
		err = oldest_scan(&spool->seen, spool->dir, &after);
	}
	return err ? err : -ENOENT;
}

static void settle(struct store *store, struct held *held, unsigned int done)
{
	struct spool *spool = (struct spool *)store;
	char json[NAME_FILE_SIZE + 1], temporary[NAME_FILE_SIZE];
	unsigned int left = held->pending & ~done;

	if (!left) {
		remove_both(spool, held->file.name);
		if (store->losses.spooled_bytes >= held->file.bytes)
			store->losses.spooled_bytes -= held->file.bytes;
	} else if (left != held->pending) {
		held->pending = left;
		spool_note_name(json, held->file.name);
		if (!write_note(spool, held, temporary) &&
		    renameat(spool->dir, temporary, spool->dir, json))
			unlinkat(spool->dir, temporary, 0);
	}
	unlock_file(held->report.parts[0].fd);
}

static void close_spool(struct store *store)
{
	struct spool *spool = (struct spool *)store;

	close(spool->dir);
	free(spool);
}

/* A directory of another user's is not trusted with what he may read, replace or remove. */
static int open_dir(const char *path)
{
	int fd = dir_make(path, 0700);
	struct stat st;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && (st.st_uid == geteuid() || st.st_uid == 0))
		return fd;
	close(fd);
	return -EPERM;
}

static int try_writing(int dir)
{
	char name[NAME_FILE_SIZE];
	int fd = temporary_create(dir, 0600, name);

	if (fd < 0)
		return fd;
	temporary_close(dir, name, fd, -ECANCELED);
	return 0;
}

int store_spool_open(struct store **out, const char *dir, uint64_t max_bytes,
		     const char *const *names, unsigned int count)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	int err;

	if (!spool)
		return -ENOMEM;
	spool->dir = open_dir(dir);
	err = spool->dir < 0 ? spool->dir : try_writing(spool->dir);
	if (err) {
		if (spool->dir >= 0)
			close(spool->dir);
		free(spool);
		return err;
	}
	spool_note_sweep(spool->dir);
	spool->max_bytes = max_bytes;
	spool->names = names;
	spool->count = count;
	spool->store = (struct store){
		.put = put, .take = take, .settle = settle, .close = close_spool, .lasts = true
	};
	*out = &spool->store;
	return 0;
}
