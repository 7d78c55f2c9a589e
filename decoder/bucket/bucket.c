/* Recordings of buckets that the command line names. */
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

/* Objects of one URL of the command line. */
struct bucket_listing {
	struct bucket_listing *next;
	char *url, *bucket;
	const char *prefix; /* points into url */
	const struct upload_filter *filter;
	struct bucket_client *client;
	struct objects objects;
	struct prefetch *prefetch; /* NULL until the first object is opened */
	atomic_bool stop;
	struct progress progress;
	int err; /* of the listing; with objects: some of them are unreadable */
};

/* Position of an object in a listing. */
struct object_place {
	struct bucket_listing *listing;
	uint32_t index;
};

static struct bucket_listing *listings;
static struct object_cache *cache;
static struct intern paths;
static struct object_place *object_places; /* by the path's number in paths */
static uint32_t object_place_room;

bool bucket_is_url(const char *file)
{
	return !strncmp(file, SCHEME, strlen(SCHEME));
}

/* --- listing ---------------------------------------------------------------------------------- */

static void listing_show_progress(void *arg, uint64_t names)
{
	struct bucket_listing *listing = arg;

	progress_show(&listing->progress, "%s: %llu names", listing->url,
		      (unsigned long long)names);
}

/* Remove the objects that the filter excludes, and explain an empty result. */
static int listing_filter_objects(struct bucket_listing *listing)
{
	uint32_t listed = listing->objects.count;
	char *groups = objects_describe_groups(&listing->objects);
	int err = objects_filter(&listing->objects, listing->filter);

	if (err == -EINVAL)
		message_print("%s: these reports are of several days: give --to with its date, as "
			      "2026-11-21T02:10:00",
			      listing->url);
	else if (!listed)
		message_print("%s: no recording has a name with this prefix", listing->url);
	else if (!err && !listing->objects.count)
		message_print(
			"%s: nothing left: none of the bucket's %u reports matches that group, "
			"machine and time; the groups are: %s",
			listing->url, listed, groups ? groups : "");
	free(groups);
	return err || listed ? err : -ENOENT;
}

static int listing_remove_frozen(struct bucket_listing *listing)
{
	uint32_t kept = 0, frozen;

	for (uint32_t i = 0; i < listing->objects.count; i++)
		if (listing->objects.list[i].is_frozen)
			free(listing->objects.list[i].key);
		else
			listing->objects.list[kept++] = listing->objects.list[i];
	frozen = listing->objects.count - kept;
	listing->objects.count = kept;
	if (frozen)
		message_print(
			"%s: %u reports are skipped: they must be restored from their storage "
			"class first",
			listing->url, frozen);
	return frozen ? -EIO : 0;
}

static int listing_load(struct bucket_listing *listing, const struct bucket_access *access)
{
	int err;

	if (!untrusted_is_valid(UNTRUSTED_BUCKET, listing->bucket)) {
		message_print("%s: not a bucket; name one as s3://BUCKET/PREFIX", listing->url);
		return -EINVAL;
	}
	err = bucket_client_open(&listing->client, listing->bucket, access, &listing->stop);
	if (err)
		return err;
	progress_start(&listing->progress);
	err = bucket_client_list(listing->client, listing->prefix, &listing->objects,
				 listing_show_progress, listing);
	progress_clear(&listing->progress);
	if (!err)
		err = listing_filter_objects(listing);
	if (err)
		objects_free(&listing->objects);
	return err ? err : listing_remove_frozen(listing);
}

static int listing_add_path(struct bucket_listing *listing, uint32_t index)
{
	char path[2048];
	uint32_t number;

	snprintf(path, sizeof(path), SCHEME "%s/%s", listing->bucket,
		 listing->objects.list[index].key);
	number = intern_string(&paths, path);
	if (!number ||
	    array_reserve(&object_places, &object_place_room, number, sizeof(*object_places)))
		return -ENOMEM;
	if (!object_places[number].listing)
		object_places[number] = (struct object_place){ listing, index };
	return 0;
}

static void bucket_listing_close(struct bucket_listing *listing)
{
	if (listing->prefetch)
		prefetch_close(listing->prefetch);
	if (listing->client)
		bucket_client_close(listing->client);
	objects_free(&listing->objects);
	free(listing->url);
	free(listing->bucket);
	free(listing);
}

static struct bucket_listing *bucket_listing_new(const char *file,
						 const struct upload_filter *filter,
						 const struct bucket_access *access)
{
	struct bucket_listing *listing = calloc(1, sizeof(*listing));
	size_t length = strcspn(file + strlen(SCHEME), "/");

	if (!listing)
		return NULL;
	listing->url = strdup(file);
	listing->bucket = strndup(file + strlen(SCHEME), length);
	if (!listing->url || !listing->bucket) {
		bucket_listing_close(listing);
		return NULL;
	}
	listing->prefix = listing->url + strlen(SCHEME) + length;
	listing->prefix += *listing->prefix == '/';
	listing->filter = filter;
	listing->err = listing_load(listing, access);
	for (uint32_t i = 0; i < listing->objects.count && listing->err != -ENOMEM; i++)
		if (listing_add_path(listing, i))
			listing->err = -ENOMEM;
	return listing;
}

static struct bucket_listing *bucket_listing_find(const char *file,
						  const struct upload_filter *filter)
{
	struct bucket_listing *listing = listings;

	while (listing && (strcmp(listing->url, file) != 0 || listing->filter != filter))
		listing = listing->next;
	return listing;
}

/* Cancel all transfers and free everything. Runs at exit. */
static void bucket_close_all(void)
{
	struct bucket_listing *next;

	for (; listings; listings = next) {
		next = listings->next;
		bucket_listing_close(listings);
	}
	if (cache)
		object_cache_close(cache);
	cache = NULL;
	intern_free(&paths);
	free(object_places);
	object_places = NULL;
	object_place_room = 0;
}

int bucket_list_objects(const char *file, const struct upload_filter *filter,
			const struct bucket_access *access,
			int (*each)(void *arg, const char *path), void *arg)
{
	struct bucket_listing *listing = bucket_listing_find(file, filter);
	char path[2048];
	int err = 0;

	if (!cache) {
		err = object_cache_open(&cache, access->cache_bytes);
		if (err)
			return err;
		atexit(bucket_close_all);
	}
	if (!listing) {
		listing = bucket_listing_new(file, filter, access);
		if (!listing)
			return -ENOMEM;
		listing->next = listings;
		listings = listing;
	}
	for (uint32_t i = 0; !err && i < listing->objects.count; i++) {
		snprintf(path, sizeof(path), SCHEME "%s/%s", listing->bucket,
			 listing->objects.list[i].key);
		err = each(arg, path);
	}
	return err ? err : listing->err;
}

/* --- objects ---------------------------------------------------------------------------------- */

static const struct object_place *object_place_find(const char *path)
{
	uint32_t number = bucket_is_url(path) ? intern_string(&paths, path) : 0;

	/* intern_string() adds a path that was unknown. Such a path has no listing. */
	return number && number < object_place_room ? &object_places[number] : NULL;
}

const struct object *bucket_find_object(const char *path)
{
	const struct object_place *place = object_place_find(path);

	return place && place->listing ? &place->listing->objects.list[place->index] : NULL;
}

int bucket_open_object(const char *path)
{
	const struct object_place *place = object_place_find(path);
	struct bucket_listing *listing = place ? place->listing : NULL;
	int err = 0;

	if (!listing)
		return -ENOENT;
	if (!listing->prefetch)
		err = prefetch_open(&listing->prefetch, listing->client, cache, &listing->objects,
				    &listing->stop);
	return err ? err : prefetch_wait_object(listing->prefetch, place->index);
}
