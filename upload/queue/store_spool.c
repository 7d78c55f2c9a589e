/* Store of reports in files of a directory, shared by processes. */
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
#include "core/log.h"
#include "core/options/config.h"
#include "upload/files/dir.h"
#include "upload/files/place.h"
#include "upload/files/temporary.h"
#include "upload/queue/spool_note.h"
#include "upload/queue/spool_running.h"

/* Interval between scans of the directory: other processes add reports, too. */
#define SCAN_INTERVAL_NS 30000000000u

struct spool {
	struct store store;
	char *path;
	int dir;                  /* -1: the spool is not usable any more */
	uid_t uid;                /* owner of DIR */
	uint64_t changes;         /* number of changes of the directory so far */
	uint64_t paused_until_ns; /* no report is taken before */
	uint64_t max_bytes;
	const char *const *names;
	unsigned int count;
	uint64_t scanned_ns; /* time of the last scan; 0: none */
	struct oldest seen;
};

static int spool_write_recording(const struct spool *spool, const struct report *report,
				 char temporary[NAME_FILE_SIZE])
{
	int fd = temporary_create(spool->dir, 0600, temporary);

	if (fd < 0)
		return fd;
	return temporary_close(spool->dir, temporary, fd, report_write(report, fd));
}

/* Lock NAME for delivery. Returns a descriptor or -errno: -EWOULDBLOCK if another process holds
 * the lock, -ENOENT if another process has delivered it. */
static int spool_lock_file(int dir, const char *name)
{
	struct stat st;
	int fd = spool_note_open(dir, name, &st), err = 0;

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &st))
		err = -errno;
	else if (!st.st_nlink)
		err = -ENOENT;
	if (err)
		close(fd);
	return err ? err : fd;
}

/* Unlock explicitly: a forked child may hold the descriptor as well. */
static void spool_unlock_file(int fd)
{
	flock(fd, LOCK_UN);
	close(fd);
}

/* Returns 0 or -errno; on failure the recording still exists. */
static int spool_remove(const struct spool *spool, const char *name)
{
	char json[NAME_FILE_SIZE + 1];

	spool_note_name(json, name);
	if (unlinkat(spool->dir, name, 0) && errno != ENOENT)
		return -errno;
	unlinkat(spool->dir, json, 0);
	return 0;
}

/* Drop reports older than OLDEST (seconds since 1970), and the oldest until at most TARGET bytes
 * remain. Skips reports in delivery. Returns the number of dropped reports. */
static size_t spool_drop(struct spool *spool, uint64_t target, int64_t oldest)
{
	struct report_losses *losses = &spool->store.losses;
	size_t dropped = 0;

	for (size_t i = 0; i < spool->seen.count; i++) {
		const struct oldest_file *file = &spool->seen.files[i];
		bool aged = !file->future && file->seconds < oldest, gone;
		int fd;

		if (spool->seen.total <= target && !aged)
			continue;
		fd = spool_lock_file(spool->dir, file->name);
		if (fd < 0)
			continue;
		gone = !spool_remove(spool, file->name);
		spool_unlock_file(fd);
		if (!gone)
			continue;
		spool->seen.total -= file->bytes;
		*(aged ? &losses->dropped_aged : &losses->dropped_full) += 1;
		losses->dropped_bytes += file->length;
		dropped++;
	}
	return dropped;
}

static void spool_enforce_limits(struct spool *spool, uint64_t more, bool at_once)
{
	uint64_t now = clock_monotonic_ns(), max = spool->max_bytes;
	uint64_t *held = &spool->store.losses.spooled_bytes;
	int64_t oldest =
		(int64_t)(clock_realtime_ns() / 1000000000u) - (int64_t)(STORE_AGE_MAX_MS / 1000);

	if (!at_once && spool->scanned_ns && now - spool->scanned_ns < SCAN_INTERVAL_NS &&
	    *held + more <= max)
		return;
	do {
		if (oldest_scan(&spool->seen, spool->dir, NULL))
			return;
		*held = spool->seen.total;
		spool->seen.total += spool_running_bytes(spool->dir);
	} while (spool_drop(spool, max > more ? max - more : 0, oldest));
	spool->scanned_ns = now;
}

/* Returns 0 or -errno: -ENOLCK if files cannot be locked. */
static int spool_test_write(int dir)
{
	char name[NAME_FILE_SIZE];
	int fd = temporary_create(dir, 0600, name), err;

	if (fd < 0)
		return fd;
	err = flock(fd, LOCK_EX | LOCK_NB) ? -ENOLCK : 0;
	temporary_close(dir, name, fd, -ECANCELED);
	return err;
}

/* Returns DIR if it is writable and has locks; else closes it and returns -errno. */
static int spool_check_dir(int dir)
{
	int err = dir < 0 ? dir : spool_test_write(dir);

	if (err && dir >= 0)
		close(dir);
	return err ? err : dir;
}

static void spool_close_dir(struct spool *spool)
{
	if (spool->dir >= 0)
		close(spool->dir);
	spool->dir = -1;
	spool->scanned_ns = 0;
	spool->store.losses.spooled_bytes = 0;
}

/* The process changed its user, which may not have access to the old directory. */
static void spool_change_user(struct spool *spool)
{
	char *own = NULL;
	int err;

	spool_close_dir(spool);
	spool->changes++;
	spool->uid = geteuid();
	spool->dir = spool_check_dir(dir_make_trusted(spool->path));
	err = spool->dir;
	if (err < 0)
		spool->dir = spool_check_dir(place_private(&own));
	if (err < 0 && place_is_of_run(spool->path))
		log_info("user %u cannot use the spool of `asprof-agent run`: %s", spool->uid,
			 strerror(-err));
	else if (err < 0)
		log_warn("user %u cannot write in " OPTION_PREFIX "SPOOL_DIR %s: %s; reports wait "
			 "in %s instead (%s)",
			 spool->uid, spool->path, strerror(-err), spool->dir < 0 ? "memory" : own,
			 err == -ENOLCK ? STORE_SPOOL_NO_LOCKS : "change the owner of the first");
	free(own);
}

/* The directory was deleted, probably by a cleanup. Create it again. */
static int spool_recreate(struct spool *spool)
{
	int dir = spool_check_dir(dir_make_trusted(spool->path));

	if (dir < 0)
		return dir;
	spool_close_dir(spool);
	spool->changes++;
	spool->dir = dir;
	return 0;
}

/* Called before each use. True if the current user has a directory. */
static bool spool_is_ready(struct spool *spool)
{
	if (geteuid() != spool->uid)
		spool_change_user(spool);
	return spool->dir >= 0;
}

static int spool_write(struct spool *spool, const struct stored_report *held)
{
	char note[NAME_FILE_SIZE], recording[NAME_FILE_SIZE], name[NAME_FILE_SIZE];
	int err;

	err = spool_note_save(spool->dir, held, spool->names, spool->count, note);
	if (err)
		return err;
	err = spool_write_recording(spool, &held->report, recording);
	if (!err) {
		err = spool_note_join(spool->dir, &held->report, note, recording, name);
		if (err)
			unlinkat(spool->dir, recording, 0);
	}
	if (err)
		unlinkat(spool->dir, note, 0);
	return err;
}

static int spool_put(struct store *store, const struct report *report, unsigned int pending)
{
	struct spool *spool = (struct spool *)store;
	struct stored_report held = { .report = *report, .pending = pending };
	uint64_t bytes = oldest_blocks(report_length(report)) + spool->seen.companion_bytes;
	int err;

	if (!spool_is_ready(spool))
		return -EACCES;
	if (bytes > spool->max_bytes)
		return -EFBIG;
	spool_enforce_limits(spool, bytes, false);
	err = spool_write(spool, &held);
	if (err == -ENOENT && !spool_recreate(spool))
		err = spool_write(spool, &held);
	if (err == -ENOSPC || err == -EDQUOT) {
		spool_enforce_limits(spool, bytes, true);
		err = spool_write(spool, &held);
	}
	if (!err)
		store->losses.spooled_bytes += bytes;
	return err;
}

static int spool_read_note(const struct spool *spool, const char *name, struct stored_report *out)
{
	char json[NAME_FILE_SIZE + 1];
	struct stat st;
	int fd, err;

	spool_note_name(json, name);
	fd = spool_note_open(spool->dir, json, &st);
	if (fd < 0)
		return fd;
	err = spool_note_read(out, fd, 0, st.st_size, spool->names, spool->count);
	close(fd);
	return err;
}

static void spool_release(struct stored_report *held)
{
	spool_note_free(held);
	held->report.begun = NULL;
}

static int spool_take_file(struct spool *spool, const struct oldest_file *file, unsigned int bit,
			   struct stored_report *out)
{
	int fd = spool_lock_file(spool->dir, file->name), err;
	struct stat st;

	if (fd < 0)
		return fd;
	memset(out, 0, sizeof(*out));
	err = spool_read_note(spool, file->name, out);
	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err && !(out->pending & bit))
		err = -ENOENT;
	if (err) {
		spool_release(out);
		spool_unlock_file(fd);
		return err;
	}
	out->store = &spool->store;
	out->file = *file;
	out->id = spool->changes;
	out->report.part_count = 1;
	out->report.parts[0] = (struct report_part){ .fd = fd, .length = (uint64_t)st.st_size };
	out->report.begun = &out->begun[__builtin_ctz(bit)];
	out->taken = *out->report.begun;
	return 0;
}

/* Skip reports that cannot be taken now. */
static int spool_take(struct store *store, unsigned int bit, const struct store_mark *mark,
		      struct stored_report *out)
{
	struct spool *spool = (struct spool *)store;
	struct oldest_file after;
	int err;

	if (!spool_is_ready(spool) || clock_monotonic_ns() < spool->paused_until_ns)
		return -ENOENT;
	err = oldest_scan(&spool->seen, spool->dir, mark ? &mark->file : NULL);
	while (!err && spool->seen.count) {
		for (size_t i = 0; i < spool->seen.count; i++)
			if (!spool_take_file(spool, &spool->seen.files[i], bit, out))
				return 0;
		after = spool->seen.files[spool->seen.count - 1];
		err = oldest_scan(&spool->seen, spool->dir, &after);
	}
	return err ? err : -ENOENT;
}

static int spool_keep(struct store *store, const struct report *report, unsigned int pending,
		      struct running_files *files, struct buf *note)
{
	struct spool *spool = (struct spool *)store;
	struct stored_report held = { .report = *report, .pending = pending };
	int err;

	if (!spool_is_ready(spool))
		return -EACCES;
	err = spool_note_write(note, &held, spool->names, spool->count);
	return err || !files ? err : spool_running_make(files, spool->dir, report);
}

static int spool_update_note(struct spool *spool, const struct stored_report *held)
{
	char json[NAME_FILE_SIZE + 1], temporary[NAME_FILE_SIZE];
	int err = spool_note_save(spool->dir, held, spool->names, spool->count, temporary);

	if (err)
		return err;
	spool_note_name(json, held->file.name);
	if (!renameat(spool->dir, temporary, spool->dir, json))
		return 0;
	err = -errno;
	unlinkat(spool->dir, temporary, 0);
	return err;
}

/* A report that cannot be marked as delivered would be delivered repeatedly. A full disk is
 * transient, and a rare repetition is harmless. After any other error the spool is not used any
 * more. */
static void spool_fail(struct spool *spool, int err)
{
	if (err == -ENOSPC || err == -EDQUOT || err == -ENOMEM) {
		spool->paused_until_ns = clock_monotonic_ns() + SCAN_INTERVAL_NS;
		return;
	}
	if (geteuid() == spool->uid)
		log_error("the spool %s is not used any more: cannot remove a delivered report: %s",
			  spool->path, strerror(-err));
	spool_close_dir(spool);
}

static void spool_settle(struct store *store, struct stored_report *held, unsigned int done)
{
	struct spool *spool = (struct spool *)store;
	unsigned int left = held->pending & ~done;
	bool ours = spool->dir >= 0 && held->id == spool->changes;
	int err = 0;

	if (ours && !left) {
		err = spool_remove(spool, held->file.name);
		if (!err && store->losses.spooled_bytes >= held->file.bytes)
			store->losses.spooled_bytes -= held->file.bytes;
	} else if (ours && (left != held->pending ||
			    memcmp(held->report.begun, &held->taken, sizeof(held->taken)) != 0)) {
		held->pending = left;
		err = spool_update_note(spool, held);
	}
	spool_unlock_file(held->report.parts[0].fd);
	spool_release(held);
	if (err)
		spool_fail(spool, err);
}

static int spool_dup_dir(struct store *store)
{
	struct spool *spool = (struct spool *)store;

	return spool_is_ready(spool) && clock_monotonic_ns() >= spool->paused_until_ns
		       ? fd_raise(fcntl(spool->dir, F_DUPFD_CLOEXEC, 0))
		       : -ENOENT;
}

static void spool_close(struct store *store)
{
	struct spool *spool = (struct spool *)store;

	if (spool->dir >= 0)
		close(spool->dir);
	free(spool->path);
	free(spool);
}

int store_spool_open(struct store **out, const char *dir, uint64_t max_bytes,
		     const char *const *names, unsigned int count)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	int err = -ENOMEM;

	if (!spool)
		return err;
	spool->path = place_absolute(dir);
	if (!spool->path)
		goto fail;
	spool->uid = geteuid();
	spool->dir = spool_check_dir(dir_make_trusted(spool->path));
	err = spool->dir;
	if (err < 0)
		goto fail;
	spool_note_sweep(spool->dir);
	spool->seen.suffix = NAME_SPOOLED;
	spool->seen.companion_bytes = oldest_blocks(1); /* the note */
	spool->max_bytes = max_bytes;
	spool->names = names;
	spool->count = count;
	spool->store = (struct store){ .put = spool_put,
				       .take = spool_take,
				       .settle = spool_settle,
				       .keep = spool_keep,
				       .close = spool_close,
				       .dir = spool_dup_dir,
				       .is_persistent = true };
	*out = &spool->store;
	return 0;
fail:
	free(spool->path);
	free(spool);
	return err;
}
