/* Buckets as what a command line names. */
#include "decoder/bucket/bucket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/bucket/object_prefetch.h"
#include "decoder/output/progress.h"
#include "decoder/output/message.h"
#include "profile/basics/intern.h"
#include "profile/basics/array.h"
#include "upload/files/untrusted.h"

#define SCHEME "s3://"

/* What one word of the command line stands for. */
struct set {
	struct set *next;
	char *word, *bucket;
	const char *prefix; /* in the word */
	const struct pick *pick;
	struct client *client;
	struct objects objects;
	struct fetch *fetch; /* NULL: nothing was asked for yet */
	atomic_bool stop;
	struct progress progress;
	int err; /* what came of listing it; not 0 with objects: some cannot be had */
};

/* Where a path is. */
struct place {
	struct set *set;
	uint32_t index;
};

static struct set *sets;
static struct cache *cache;
static struct intern paths;
static struct place *places; /* by the path's number */
static uint32_t object_place_room;

bool bucket_is_url(const char *file)
{
	return !strncmp(file, SCHEME, strlen(SCHEME));
}

/* --- one word --------------------------------------------------------------------------------- */

static void listing_show_progress(void *arg, uint64_t names)
{
	struct set *set = arg;

	progress_show(&set->progress, "%s: %llu names", set->word, (unsigned long long)names);
}

/* What the list has left when only some of it is asked for. */
static int pick(struct set *set)
{
	uint32_t listed = set->objects.count;
	char *groups = objects_describe_groups(&set->objects);
	int err = objects_filter(&set->objects, set->pick);

	if (err == -EINVAL)
		say("%s: these reports are of several days: say which day --to is of, as "
		    "2026-11-21T02:10:00",
		    set->word);
	else if (!listed)
		say("%s: no recording has a name that begins so", set->word);
	else if (!err && !set->objects.count)
		say("%s: nothing left: of %u reports there none is of that group, machine and "
		    "time; there are the groups: %s",
		    set->word, listed, groups ? groups : "");
	free(groups);
	return err || listed ? err : -ENOENT;
}

static int listing_remove_frozen(struct set *set)
{
	uint32_t kept = 0, frozen;

	for (uint32_t i = 0; i < set->objects.count; i++)
		if (set->objects.list[i].frozen)
			free(set->objects.list[i].key);
		else
			set->objects.list[kept++] = set->objects.list[i];
	frozen = set->objects.count - kept;
	set->objects.count = kept;
	if (frozen)
		say("%s: %u reports are left out: they lie in a storage class from which they "
		    "must be restored first",
		    set->word, frozen);
	return frozen ? -EIO : 0;
}

static int list(struct set *set, const struct reach *reach)
{
	int err;

	if (!untrusted_is_valid(UNTRUSTED_BUCKET, set->bucket)) {
		say("%s: not a bucket; it is named as s3://BUCKET/PREFIX", set->word);
		return -EINVAL;
	}
	err = bucket_client_open(&set->client, set->bucket, reach, &set->stop);
	if (err)
		return err;
	progress_start(&set->progress);
	err = bucket_client_list(set->client, set->prefix, &set->objects, listing_show_progress,
				 set);
	progress_clear(&set->progress);
	if (!err)
		err = pick(set);
	if (err)
		objects_free(&set->objects);
	return err ? err : listing_remove_frozen(set);
}

static int listing_add_path(struct set *set, uint32_t index)
{
	char path[2048];
	struct place *grown;
	uint32_t number;

	snprintf(path, sizeof(path), SCHEME "%s/%s", set->bucket, set->objects.list[index].key);
	number = intern_string(&paths, path);
	grown = number ? array_reserve(places, &object_place_room, number, sizeof(*places)) : NULL;
	if (!grown)
		return -ENOMEM;
	places = grown;
	if (!places[number].set)
		places[number] = (struct place){ set, index };
	return 0;
}

static void bucket_listing_close(struct set *set)
{
	if (set->fetch)
		prefetch_close(set->fetch);
	if (set->client)
		bucket_client_close(set->client);
	objects_free(&set->objects);
	free(set->word);
	free(set->bucket);
	free(set);
}

static struct set *bucket_listing_new(const char *file, const struct pick *wanted,
				      const struct reach *reach)
{
	struct set *set = calloc(1, sizeof(*set));
	size_t length = strcspn(file + strlen(SCHEME), "/");

	if (!set)
		return NULL;
	set->word = strdup(file);
	set->bucket = strndup(file + strlen(SCHEME), length);
	if (!set->word || !set->bucket) {
		bucket_listing_close(set);
		return NULL;
	}
	set->prefix = set->word + strlen(SCHEME) + length;
	set->prefix += *set->prefix == '/';
	set->pick = wanted;
	set->err = list(set, reach);
	for (uint32_t i = 0; i < set->objects.count && set->err != -ENOMEM; i++)
		if (listing_add_path(set, i))
			set->err = -ENOMEM;
	return set;
}

static struct set *bucket_listing_find(const char *file, const struct pick *wanted)
{
	struct set *set = sets;

	while (set && (strcmp(set->word, file) != 0 || set->pick != wanted))
		set = set->next;
	return set;
}

int bucket_list_objects(const char *file, const struct pick *wanted, const struct reach *reach,
			int (*each)(void *arg, const char *path), void *arg)
{
	struct set *set = bucket_listing_find(file, wanted);
	char path[2048];
	int err = 0;

	if (!cache) {
		err = object_cache_open(&cache, reach->cache_bytes);
		if (err)
			return err;
		atexit(bucket_close);
	}
	if (!set) {
		set = bucket_listing_new(file, wanted, reach);
		if (!set)
			return -ENOMEM;
		set->next = sets;
		sets = set;
	}
	for (uint32_t i = 0; !err && i < set->objects.count; i++) {
		snprintf(path, sizeof(path), SCHEME "%s/%s", set->bucket, set->objects.list[i].key);
		err = each(arg, path);
	}
	return err ? err : set->err;
}

/* --- one object ------------------------------------------------------------------------------- */

static const struct place *object_place_find(const char *path)
{
	uint32_t number = bucket_is_url(path) ? intern_string(&paths, path) : 0;

	/* What was not there is now, and of no set. */
	return number && number < object_place_room ? &places[number] : NULL;
}

const struct object *bucket_find_object(const char *path)
{
	const struct place *place = object_place_find(path);

	return place && place->set ? &place->set->objects.list[place->index] : NULL;
}

int bucket_open_object(const char *path)
{
	const struct place *place = object_place_find(path);
	struct set *set = place ? place->set : NULL;
	int err = 0;

	if (!set)
		return -ENOENT;
	if (!set->fetch)
		err = prefetch_open(&set->fetch, set->client, cache, &set->objects, &set->stop);
	return err ? err : prefetch_wait_object(set->fetch, place->index);
}

void bucket_close(void)
{
	struct set *next;

	for (; sets; sets = next) {
		next = sets->next;
		bucket_listing_close(sets);
	}
	if (cache)
		object_cache_close(cache);
	cache = NULL;
	intern_free(&paths);
	free(places);
	places = NULL;
	object_place_room = 0;
}
