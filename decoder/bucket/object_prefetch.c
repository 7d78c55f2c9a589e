/* Objects that are fetched ahead of who reads them. */
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

/* As far ahead: each is a descriptor. */
#define CHUNKS_AHEAD_MAX (2 * WORKERS_MAX)

#define LOOK_NS 100000000

enum state { WAITING, BUSY, READY, FAILED };

struct slot {
	enum state state;
	int file; /* READY: a descriptor; FAILED: -errno */
};

struct fetcher {
	struct fetch *fetch;
	struct client *client; /* NULL: nothing had to be asked for yet */
	pthread_t thread;
};

/* The lock is held for slots, at, next, refused and done. */
struct fetch {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct client *client;
	struct cache *cache;
	const struct objects *objects;
	struct slot *slots;
	uint32_t at;   /* the one that is taken next */
	uint32_t next; /* the one that is fetched next */
	int refused;   /* as all others would be */
	uint32_t done;
	uint64_t bytes;
	atomic_bool *stop;
	struct fetcher fetchers[WORKERS_MAX];
	unsigned int count;
	bool started;
	struct progress progress;
};

/* --- one object ------------------------------------------------------------------------------- */

struct filling {
	struct client *client;
	const struct object *object;
};

static int object_source_fetch(void *arg, int fd)
{
	const struct filling *filling = arg;

	return bucket_client_fetch(filling->client, filling->object, fd);
}

/* From the cache, or from the bucket by *CLIENT, which is made when it is needed. */
static int prefetch_fetch_object(struct fetch *f, struct client **client, uint32_t index)
{
	const struct object *object = &f->objects->list[index];
	struct filling filling = { .object = object };
	int fd = object_cache_find(f->cache, bucket_client_base(f->client), object), err;

	if (fd >= 0)
		return fd;
	if (!*client) {
		err = bucket_client_clone(client, f->client);
		if (err)
			return err;
	}
	filling.client = *client;
	return object_cache_add(f->cache, bucket_client_base(f->client), object,
				object_source_fetch, &filling);
}

/* --- ahead ------------------------------------------------------------------------------------ */

static void *prefetch_worker_main(void *arg)
{
	struct fetcher *fetcher = arg;
	struct fetch *f = fetcher->fetch;

	pthread_mutex_lock(&f->lock);
	while (!atomic_load(f->stop)) {
		struct slot *slot;
		uint32_t index = f->next;
		int file;

		if (f->refused || index == f->objects->count || index >= f->at + CHUNKS_AHEAD_MAX) {
			pthread_cond_wait(&f->changed, &f->lock);
			continue;
		}
		f->next++;
		slot = &f->slots[index];
		if (slot->state != WAITING)
			continue;
		slot->state = BUSY;
		pthread_mutex_unlock(&f->lock);
		file = prefetch_fetch_object(f, &fetcher->client, index);
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

static void prefetch_start_workers(struct fetch *f)
{
	sigset_t all, before;

	f->started = true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned int i = 0; i < WORKERS_MAX && i < f->objects->count; i++) {
		f->fetchers[i].fetch = f;
		if (pthread_create(&f->fetchers[i].thread, NULL, prefetch_worker_main,
				   &f->fetchers[i]))
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

/* INDEX is wanted: what is not among those that follow it is let go of. Under the lock. */
static void prefetch_move_to(struct fetch *f, uint32_t index)
{
	if (index != f->at) {
		for (uint32_t i = 0; i < f->objects->count; i++)
			if (i < index || i >= index + CHUNKS_AHEAD_MAX)
				slot_reset(&f->slots[i]);
		f->next = index;
	}
	f->at = index;
	pthread_cond_broadcast(&f->changed);
}

static void prefetch_show_progress(struct fetch *f)
{
	char bytes[TEXT_NUMBER];

	progress_show(&f->progress, "%u of %u fetched, %s", f->done, f->objects->count,
		      text_bytes(bytes, (double)f->bytes));
}

/* Wait until the slot is there. Under the lock. */
static void prefetch_wait_slot(struct fetch *f, const struct slot *slot)
{
	struct timespec until;

	while (slot->state == BUSY || (slot->state == WAITING && !f->refused)) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&f->changed, &f->lock, &until);
		prefetch_show_progress(f);
	}
}

int prefetch_wait_object(struct fetch *f, uint32_t index)
{
	struct slot *slot = &f->slots[index];
	int file;

	/* What is there already needs no threads. */
	if (!f->started) {
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
	if (!f->count) /* no threads to be had */
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

int prefetch_open(struct fetch **out, struct client *client, struct cache *cache,
		  const struct objects *objects, atomic_bool *stop)
{
	struct fetch *f = calloc(1, sizeof(*f));
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

void prefetch_close(struct fetch *f)
{
	pthread_mutex_lock(&f->lock);
	atomic_store(f->stop, true);
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	for (unsigned int i = 0; i < f->count; i++)
		pthread_join(f->fetchers[i].thread, NULL);
	for (unsigned int i = 0; i < f->count; i++)
		if (f->fetchers[i].client)
			bucket_client_close(f->fetchers[i].client);
	for (uint32_t i = 0; i < f->objects->count; i++)
		slot_reset(&f->slots[i]);
	progress_clear(&f->progress);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	free(f->slots);
	free(f);
}
