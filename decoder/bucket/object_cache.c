/* Cache of objects from buckets. */
#include "decoder/bucket/object_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "decoder/output/temp_file.h"
#include "profile/basics/array.h"
#include "upload/aws/sigv4.h"
#include "upload/files/dir.h"
#include "upload/files/temporary.h"

#define SUFFIX ".object"

/* Size of a file's name with its NUL. */
#define NAME_SIZE (SIGV4_HASH_SIZE + sizeof(SUFFIX) - 1)

/* Block size of most file systems, to compute a file's size on the disk. */
#define BLOCK 4096

/* The cache is reduced to this share of its limit, so that not every new file needs a scan. */
#define KEEP_SHARE 9 / 10

struct object_cache {
	int dir; /* -1: no cache directory */
	uint64_t max_bytes;
	pthread_mutex_t lock;
	uint64_t bytes;   /* estimated: other processes add files too */
	uint64_t writing; /* bytes of files that are being written */
};

/* --- names ------------------------------------------------------------------------------------ */

static int object_file_name(char name[NAME_FILE_SIZE], const char *base,
			    const struct object *object)
{
	struct buf text = BUF_INIT(16384);
	char hash[SIGV4_HASH_SIZE];
	int err;

	/* Without an ETag, the time of the last change identifies the version. */
	err = buf_printf(&text, "%s%s%c%s%c%lld", base, object->key, '\0', object->etag, '\0',
			 object->etag[0] ? 0LL : (long long)object->modified);
	if (!err)
		err = sigv4_hash(hash, text.data, text.length);
	if (!err)
		snprintf(name, NAME_FILE_SIZE, "%s%s", hash, SUFFIX);
	buf_free(&text);
	return err;
}

static bool name_is_object(const char *name)
{
	return strlen(name) == SIGV4_HASH_SIZE - 1 + strlen(SUFFIX) &&
	       strspn(name, "0123456789abcdef") == SIGV4_HASH_SIZE - 1 &&
	       !strcmp(name + SIGV4_HASH_SIZE - 1, SUFFIX);
}

/* --- room ------------------------------------------------------------------------------------- */

struct cached_file {
	char name[NAME_SIZE];
	int64_t used_ns;
	uint64_t bytes;
};

struct cached_files {
	struct cached_file *list;
	uint32_t count, room;
	uint64_t bytes;
};

static int cached_files_add(struct object_cache *cache, struct cached_files *kept, const char *name)
{
	struct cached_file *file;
	struct stat st;

	if (temporary_is(name))
		temporary_sweep(cache->dir, name);
	if (!name_is_object(name) || fstatat(cache->dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return 0;
	if (array_reserve(&kept->list, &kept->room, kept->count, sizeof(*kept->list)))
		return -ENOMEM;
	file = &kept->list[kept->count++];
	memcpy(file->name, name, NAME_SIZE);
	file->used_ns = (int64_t)clock_time_ns(&st.st_mtim);
	file->bytes = (uint64_t)st.st_blocks * 512;
	kept->bytes += file->bytes;
	return 0;
}

static int cached_files_read(struct object_cache *cache, struct cached_files *kept)
{
	int fd = openat(cache->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!listing) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(listing)))
		err = cached_files_add(cache, kept, entry->d_name);
	closedir(listing);
	return err;
}

static int compare_last_use(const void *a, const void *b)
{
	const struct cached_file *x = a, *y = b;

	return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

/* Make room for BYTES more. Returns false if they do not fit together with all files that are being
 * written. Lock held. */
static bool object_cache_make_room(struct object_cache *cache, uint64_t bytes)
{
	struct cached_files kept = { 0 };
	uint64_t most = cache->max_bytes * KEEP_SHARE;

	bytes += cache->writing;
	if (bytes > most)
		return false;
	if (cache->bytes + bytes <= cache->max_bytes)
		return true;
	if (cached_files_read(cache, &kept))
		goto out;
	most -= bytes;
	qsort(kept.list, kept.count, sizeof(*kept.list), compare_last_use);
	for (uint32_t i = 0; i < kept.count && kept.bytes > most; i++)
		if (!unlinkat(cache->dir, kept.list[i].name, 0) || errno == ENOENT)
			kept.bytes -= kept.list[i].bytes;
	cache->bytes = kept.bytes;
out:
	free(kept.list);
	return true;
}

static bool object_cache_reserve(struct object_cache *cache, uint64_t bytes)
{
	bool room;

	pthread_mutex_lock(&cache->lock);
	room = object_cache_make_room(cache, bytes);
	cache->writing += room ? bytes : 0;
	pthread_mutex_unlock(&cache->lock);
	return room;
}

static void object_cache_finish_write(struct object_cache *cache, uint64_t bytes, bool kept)
{
	pthread_mutex_lock(&cache->lock);
	cache->writing -= bytes;
	cache->bytes += kept ? bytes : 0;
	pthread_mutex_unlock(&cache->lock);
}

/* --- the files -------------------------------------------------------------------------------- */

static int cache_directory_open(void)
{
	const char *home = getenv("XDG_CACHE_HOME"), *below = "";
	char path[PATH_MAX];

	if (!home || home[0] != '/') { /* the XDG specification ignores relative paths */
		home = getenv("HOME");
		below = "/.cache";
	}
	if (!home || home[0] != '/' ||
	    (size_t)snprintf(path, sizeof(path), "%s%s/asprof-agent", home, below) >= sizeof(path))
		return -ENOENT;
	return dir_make_trusted(path);
}

int object_cache_open(struct object_cache **out, uint64_t max_bytes)
{
	struct object_cache *cache = calloc(1, sizeof(*cache));
	struct cached_files kept = { 0 };

	if (!cache)
		return -ENOMEM;
	pthread_mutex_init(&cache->lock, NULL);
	cache->max_bytes = max_bytes;
	cache->dir = max_bytes ? cache_directory_open() : -1;
	if (cache->dir >= 0 && !cached_files_read(cache, &kept))
		cache->bytes = kept.bytes;
	free(kept.list);
	*out = cache;
	return 0;
}

int object_cache_find(struct object_cache *cache, const char *base, const struct object *object)
{
	char name[NAME_FILE_SIZE];
	struct stat st;
	int fd, err;

	if (cache->dir < 0)
		return -ENOENT;
	err = object_file_name(name, base, object);
	if (err)
		return err;
	fd = openat(cache->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != object->bytes) {
		close(fd);
		return -ENOENT;
	}
	/* The modification time is the time of the last use. */
	utimensat(cache->dir, name, NULL, AT_SYMLINK_NOFOLLOW);
	return fd;
}

static int fill_temp_file(int (*fill)(void *arg, int fd), void *arg)
{
	int fd = temp_file_create(), err;

	if (fd < 0)
		return -errno;
	err = fill(arg, fd);
	if (err)
		close(fd);
	return err ? err : fd;
}

int object_cache_add(struct object_cache *cache, const char *base, const struct object *object,
		     int (*fill)(void *arg, int fd), void *arg)
{
	char name[NAME_FILE_SIZE], temporary[NAME_FILE_SIZE];
	uint64_t bytes = (object->bytes + BLOCK - 1) / BLOCK * BLOCK;
	int writing, fd, err;

	if (cache->dir < 0)
		return fill_temp_file(fill, arg);
	err = object_file_name(name, base, object);
	if (err)
		return err;
	if (!object_cache_reserve(cache, bytes))
		return fill_temp_file(fill, arg);
	writing = temporary_create(cache->dir, 0600, temporary);
	if (writing < 0) {
		object_cache_finish_write(cache, bytes, false);
		return fill_temp_file(fill, arg);
	}
	fd = openat(cache->dir, temporary, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	err = fd < 0 ? -errno : fill(arg, fd);
	err = temporary_close(cache->dir, temporary, writing, err);
	if (!err && renameat(cache->dir, temporary, cache->dir, name))
		unlinkat(cache->dir, temporary,
			 0); /* the caller uses the file once, through its descriptor */
	object_cache_finish_write(cache, bytes, !err);
	if (err && fd >= 0)
		close(fd);
	/* The directory for temporary files may be on another file system. */
	if (err == -ENOSPC || err == -EDQUOT)
		return fill_temp_file(fill, arg);
	return err ? err : fd;
}

void object_cache_close(struct object_cache *cache)
{
	if (cache->dir >= 0)
		close(cache->dir);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}
