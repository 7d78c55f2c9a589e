/* Prefetch of objects by several threads. */
#include "decoder/bucket/object_prefetch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "decoder/output/progress.h"
#include "profile/basics/text.h"

#define WORKERS_MAX 16

/* Limit of objects that are fetched ahead. Each uses a descriptor. */
#define PREFETCH_MAX (2 * WORKERS_MAX)

#define PROGRESS_INTERVAL_NS 100000000

enum state { WAITING, BUSY, READY, FAILED };

struct slot {
	enum state state;
	int file; /* READY: a descriptor; FAILED: -errno */
};

struct prefetch_worker {
	struct prefetch *prefetch;
	struct bucket_client *client; /* NULL until the first request */
	pthread_t thread;
};

/* The lock protects slots, at, next, refused and done. */
struct prefetch {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct bucket_client *client;
	struct object_cache *cache;
	const struct objects *objects;
	struct slot *slots;
	uint32_t at;   /* next object to return */
	uint32_t next; /* next object to fetch */
	int refused;   /* error that all further objects would get, or 0 */
	uint32_t done;
	uint64_t bytes;
	atomic_bool *stop;
	struct prefetch_worker workers[WORKERS_MAX];
	unsigned int count;
	bool is_started;
	struct progress progress;
};

/* --- objects ---------------------------------------------------------------------------------- */

struct object_source {
	struct bucket_client *client;
	const struct object *object;
};

static int object_source_fetch(void *arg, int fd)
{
	const struct object_source *source = arg;

	return bucket_client_fetch(source->client, source->object, fd);
}

/* Open object INDEX from the cache or the bucket. *CLIENT is created at the first request. */
static int prefetch_fetch_object(struct prefetch *f, struct bucket_client **client, uint32_t index)
{
	const struct object *object = &f->objects->list[index];
	struct object_source source = { .object = object };
	int fd = object_cache_find(f->cache, bucket_client_base(f->client), object), err;

	if (fd >= 0)
		return fd;
	if (!*client) {
		err = bucket_client_clone(client, f->client);
		if (err)
			return err;
	}
	source.client = *client;
	return object_cache_add(f->cache, bucket_client_base(f->client), object,
				object_source_fetch, &source);
}

/* --- workers ---------------------------------------------------------------------------------- */

static void *prefetch_worker_main(void *arg)
{
	struct prefetch_worker *worker = arg;
	struct prefetch *f = worker->prefetch;

	pthread_mutex_lock(&f->lock);
	while (!atomic_load(f->stop)) {
		struct slot *slot;
		uint32_t index = f->next;
		int file;

		if (f->refused || index == f->objects->count || index >= f->at + PREFETCH_MAX) {
			pthread_cond_wait(&f->changed, &f->lock);
			continue;
		}
		f->next++;
		slot = &f->slots[index];
		if (slot->state != WAITING)
			continue;
		slot->state = BUSY;
		pthread_mutex_unlock(&f->lock);
		file = prefetch_fetch_object(f, &worker->client, index);
		pthread_mutex_lock(&f->lock);
		*slot = (struct slot){ file < 0 ? FAILED : READY, file };
		if (file == -EACCES)
			f->refused = file;
		f->done++;
		f->bytes += file < 0 ? 0 : f->objects->list[index].bytes;
		pthread_cond_broadcast(&f->changed);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static void prefetch_start_workers(struct prefetch *f)
{
	sigset_t all, before;

	f->is_started = true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned int i = 0; i < WORKERS_MAX && i < f->objects->count; i++) {
		f->workers[i].prefetch = f;
		if (pthread_create(&f->workers[i].thread, NULL, prefetch_worker_main,
				   &f->workers[i]))
			break;
		f->count++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void slot_reset(struct slot *slot)
{
	if (slot->state == READY)
		close(slot->file);
	if (slot->state != BUSY)
		slot->state = WAITING;
}

/* Make INDEX the current object, and drop the objects outside its window. Lock held. */
static void prefetch_move_to(struct prefetch *f, uint32_t index)
{
	if (index != f->at) {
		for (uint32_t i = 0; i < f->objects->count; i++)
			if (i < index || i >= index + PREFETCH_MAX)
				slot_reset(&f->slots[i]);
		f->next = index;
	}
	f->at = index;
	pthread_cond_broadcast(&f->changed);
}

static void prefetch_show_progress(struct prefetch *f)
{
	char bytes[TEXT_NUMBER];

	progress_show(&f->progress, "%u of %u fetched, %s", f->done, f->objects->count,
		      text_bytes(bytes, (double)f->bytes));
}

/* Wait until the slot is ready or failed. Lock held. */
static void prefetch_wait_slot(struct prefetch *f, const struct slot *slot)
{
	struct timespec until;

	while (slot->state == BUSY || (slot->state == WAITING && !f->refused)) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += PROGRESS_INTERVAL_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&f->changed, &f->lock, &until);
		prefetch_show_progress(f);
	}
}

int prefetch_wait_object(struct prefetch *f, uint32_t index)
{
	struct slot *slot = &f->slots[index];
	int file;

	/* As long as all objects are in the cache, no threads are needed. */
	if (!f->is_started) {
		file = object_cache_find(f->cache, bucket_client_base(f->client),
					 &f->objects->list[index]);
		if (file >= 0) {
			f->at = f->next = index + 1;
			f->done++;
			return file;
		}
		f->at = f->next = index;
		prefetch_start_workers(f);
	}
	if (!f->count) /* no thread could be created */
		return prefetch_fetch_object(f, &f->client, index);
	pthread_mutex_lock(&f->lock);
	prefetch_move_to(f, index);
	prefetch_wait_slot(f, slot);
	file = slot->state == WAITING ? f->refused : slot->file;
	slot->state = WAITING;
	f->at = index + 1;
	pthread_cond_broadcast(&f->changed);
	if (file < 0 || f->at == f->objects->count)
		progress_clear(&f->progress);
	pthread_mutex_unlock(&f->lock);
	return file;
}

int prefetch_open(struct prefetch **out, struct bucket_client *client, struct object_cache *cache,
		  const struct objects *objects, atomic_bool *stop)
{
	struct prefetch *f = calloc(1, sizeof(*f));
	pthread_condattr_t monotonic;

	if (!f)
		return -ENOMEM;
	f->slots = calloc((size_t)objects->count + 1, sizeof(*f->slots));
	if (!f->slots) {
		free(f);
		return -ENOMEM;
	}
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&f->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	f->client = client;
	f->cache = cache;
	f->objects = objects;
	f->stop = stop;
	progress_start(&f->progress);
	*out = f;
	return 0;
}

void prefetch_close(struct prefetch *f)
{
	pthread_mutex_lock(&f->lock);
	atomic_store(f->stop, true);
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	for (unsigned int i = 0; i < f->count; i++)
		pthread_join(f->workers[i].thread, NULL);
	for (unsigned int i = 0; i < f->count; i++)
		if (f->workers[i].client)
			bucket_client_close(f->workers[i].client);
	for (uint32_t i = 0; i < f->objects->count; i++)
		slot_reset(&f->slots[i]);
	progress_clear(&f->progress);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	free(f->slots);
	free(f);
}
