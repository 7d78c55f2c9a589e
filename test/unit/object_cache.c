/* decoder/bucket/object_cache.c and object_prefetch.c: fetched objects are kept, within limits, and
 * the next ones are prefetched, from a store that the test plays. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "decoder/bucket/object_cache.h"
#include "decoder/bucket/object_prefetch.h"
#include "decoder/output/log_capture.h"
#include "decoder/output/message.h"
#include "test/fixtures/suite.h"

#define BASE "https://store.example/bucket/"

static char home[] = "/tmp/asprof-cache-XXXXXX", place[64];

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(home));
	snprintf(place, sizeof(place), "%s/asprof-agent", home);
	setenv("XDG_CACHE_HOME", home, 1);
	message_disabled = true;
}

static void teardown(void)
{
	DIR *dir = opendir(place);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(place);
	rmdir(home);
}

/* Number of files in the cache, and their bytes. */
static int look(off_t *bytes)
{
	DIR *dir = opendir(place);
	struct dirent *entry;
	struct stat st;
	int count = 0;

	*bytes = 0;
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			ck_assert(!fstatat(dirfd(dir), entry->d_name, &st, 0));
			ck_assert_uint_eq(st.st_mode & 0777, 0600);
			*bytes += st.st_blocks * 512;
			count++;
		}
	if (dir)
		closedir(dir);
	return count;
}

static int files(void)
{
	off_t bytes;

	return look(&bytes);
}

static int fill_text(void *arg, int fd)
{
	return fd_write(fd, arg, strlen(arg), 0);
}

static int fill_half(void *arg, int fd)
{
	(void)arg;
	ck_assert(!fd_write(fd, "ab", 2, 0));
	return -EIO;
}

static void expect_text(int fd, const char *text)
{
	char got[64] = "";

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, got, sizeof(got) - 1, 0), (ssize_t)strlen(text));
	ck_assert_str_eq(got, text);
	close(fd);
}

static struct object object_of(const char *key, const char *etag, uint64_t bytes)
{
	return (struct object){ .key = (char *)key, .etag = (char *)etag, .bytes = bytes };
}

START_TEST(keeps_what_was_put)
{
	struct object object = object_of("a", "\"1\"", 3), other = object_of("a", "\"2\"", 3);
	struct object longer = object_of("a", "\"1\"", 4);
	struct object_cache *cache, *second;

	ck_assert_int_eq(object_cache_open(&cache, 1 << 20), 0);
	ck_assert_int_eq(object_cache_open(&second, 1 << 20), 0);
	ck_assert_int_eq(object_cache_find(cache, BASE, &object), -ENOENT);
	expect_text(object_cache_add(cache, BASE, &object, fill_text, "abc"), "abc");
	/* Also for another process; but not if it was replaced, is at another place or is longer. */
	expect_text(object_cache_find(second, BASE, &object), "abc");
	ck_assert_int_eq(object_cache_find(second, BASE, &other), -ENOENT);
	ck_assert_int_eq(object_cache_find(second, "https://else.example/", &object), -ENOENT);
	ck_assert_int_eq(object_cache_find(second, BASE, &longer), -ENOENT);
	ck_assert_int_eq(files(), 1);
	object_cache_close(cache);
	object_cache_close(second);
}
END_TEST

START_TEST(without_an_etag_the_time_counts)
{
	struct object object = object_of("a", "", 3), later = object;
	struct object_cache *cache;

	object.modified = 1;
	later.modified = 2;
	ck_assert_int_eq(object_cache_open(&cache, 1 << 20), 0);
	expect_text(object_cache_add(cache, BASE, &object, fill_text, "abc"), "abc");
	expect_text(object_cache_find(cache, BASE, &object), "abc");
	ck_assert_int_eq(object_cache_find(cache, BASE, &later), -ENOENT);
	object_cache_close(cache);
}
END_TEST

START_TEST(nothing_stays_of_a_failure)
{
	struct object object = object_of("a", "\"1\"", 3);
	struct object_cache *cache;

	ck_assert_int_eq(object_cache_open(&cache, 1 << 20), 0);
	ck_assert_int_eq(object_cache_add(cache, BASE, &object, fill_half, NULL), -EIO);
	ck_assert_int_eq(files(), 0);
	object_cache_close(cache);
}
END_TEST

START_TEST(what_was_used_last_stays)
{
	const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct object first = object_of("first", "\"1\"", 3);
	struct object_cache *cache;
	char key[16], path[512];
	struct dirent *entry;
	off_t bytes;
	DIR *dir;

	ck_assert_int_eq(object_cache_open(&cache, 40 * 4096), 0);
	close(object_cache_add(cache, BASE, &first, fill_text, "abc"));
	/* Long ago, but it is used again. */
	dir = opendir(place);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", place, entry->d_name);
		if (entry->d_name[0] != '.')
			ck_assert(!utimensat(AT_FDCWD, path, long_ago, 0));
	}
	closedir(dir);
	for (int i = 0; i < 200; i++) {
		struct object object = object_of(key, "\"1\"", 4096);
		char text[4097];

		snprintf(key, sizeof(key), "%d", i);
		memset(text, 'x', 4096);
		text[4096] = '\0';
		close(object_cache_add(cache, BASE, &object, fill_text, text));
		ck_assert_int_le(look(&bytes), 41);
		ck_assert_int_le(bytes, 40 * 4096);
		expect_text(object_cache_find(cache, BASE, &first), "abc");
	}
	ck_assert_int_gt(files(), 20);
	object_cache_close(cache);
	/* A smaller one from now on. */
	ck_assert_int_eq(object_cache_open(&cache, 10 * 4096), 0);
	first.key = "another";
	close(object_cache_add(cache, BASE, &first, fill_text, "abc"));
	look(&bytes);
	ck_assert_int_le(bytes, 10 * 4096);
	object_cache_close(cache);
}
END_TEST

/* An object that does not fit goes to an unnamed file; so do all if there is no cache. */
START_TEST(without_a_place)
{
	struct object object = object_of("a", "\"1\"", 3), large = object_of("a", "\"1\"", 1 << 20);
	struct object_cache *cache;

	ck_assert_int_eq(object_cache_open(&cache, 4096), 0);
	expect_text(object_cache_add(cache, BASE, &large, fill_text, "abc"), "abc");
	ck_assert_int_eq(files(), 0);
	object_cache_close(cache);

	ck_assert_int_eq(object_cache_open(&cache, 0), 0);
	expect_text(object_cache_add(cache, BASE, &object, fill_text, "abc"), "abc");
	ck_assert_int_eq(object_cache_find(cache, BASE, &object), -ENOENT);
	object_cache_close(cache);

	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", "/proc/nothing", 1);
	ck_assert_int_eq(object_cache_open(&cache, 4096), 0);
	expect_text(object_cache_add(cache, BASE, &object, fill_text, "abc"), "abc");
	object_cache_close(cache);
}
END_TEST

/* --- fetching --------------------------------------------------------------------------------- */

#define OBJECTS 300

static atomic_uint asked, refuse_all, most_ahead, taken;

/* The content of an object is its number; number 7 does not exist. */
static int play(struct http *http, const struct http_request *request,
		struct http_response *response)
{
	char url[1024];
	unsigned int number;

	(void)http;
	snprintf(url, sizeof(url), "%.*s", (int)request->url.length,
		 (const char *)request->url.data);
	response->status = 200;
	if (strchr(url, '?'))
		return buf_append_string(&response->body, "<ListBucketResult/>");
	number = (unsigned int)strtoul(strrchr(url, '/') + 1, NULL, 10);
	atomic_fetch_add(&asked, 1);
	if (number > atomic_load(&taken) + atomic_load(&most_ahead))
		atomic_store(&most_ahead, number - atomic_load(&taken));
	response->status = number == 7 ? 404 : atomic_load(&refuse_all) ? 403 : 200;
	if (response->status != 200)
		return 0;
	return request->take(request->take_arg, 200, strrchr(url, '/') + 1, 3);
}

static void close_http(struct http *http)
{
	(void)http;
}

static int send_played(struct http **out, const char *ca_file, const atomic_bool *stop)
{
	static struct http http = { .send = play, .close = close_http };

	(void)ca_file;
	(void)stop;
	*out = &http;
	return 0;
}

static int64_t tell_now(void)
{
	return 1000000000;
}

static void pause_not(uint64_t ns, const atomic_bool *stop)
{
	(void)stop;
	(void)ns;
}

struct scene {
	atomic_bool stop;
	struct bucket_client *client;
	struct object_cache *cache;
	struct objects objects;
	struct prefetch *fetch;
};

static void scene_open(struct scene *scene, uint64_t cache_bytes)
{
	static char *const environment[] = { "AWS_ACCESS_KEY_ID=0", "AWS_SECRET_ACCESS_KEY=S",
					     "AWS_REGION=r", NULL };
	const struct bucket_client_hooks means = { environment, send_played, tell_now, pause_not,
						   UINT64_MAX };
	struct bucket_access reach = { .endpoint = "https://store.example" };
	struct objects none = { 0 };

	*scene = (struct scene){ 0 };
	ck_assert(!bucket_client_open_with(&scene->client, "bucket", &reach, &scene->stop, &means));
	ck_assert(!bucket_client_list(scene->client, "", &none, NULL, NULL));
	ck_assert(!object_cache_open(&scene->cache, cache_bytes));
	for (int i = 0; i < OBJECTS; i++) {
		char key[16];
		struct listing_entry listed = { .key = key, .etag = "\"e\"", .bytes = 3 };

		snprintf(key, sizeof(key), "%03d.zip", i);
		ck_assert(!objects_add(&scene->objects, &listed));
	}
	atomic_store(&asked, 0);
	atomic_store(&taken, 0);
	atomic_store(&most_ahead, 0);
	ck_assert(!prefetch_open(&scene->fetch, scene->client, scene->cache, &scene->objects,
				 &scene->stop));
}

static void scene_close(struct scene *scene)
{
	prefetch_close(scene->fetch);
	bucket_client_close(scene->client);
	object_cache_close(scene->cache);
	objects_free(&scene->objects);
}

static void take(struct scene *scene, uint32_t index)
{
	char text[8];
	int fd;

	atomic_store(&taken, index);
	fd = prefetch_wait_object(scene->fetch, index);
	if (index == 7) {
		ck_assert_int_eq(fd, -ENOENT);
		return;
	}
	snprintf(text, sizeof(text), "%03u", index);
	expect_text(fd, text);
}

START_TEST(each_is_fetched_once)
{
	struct scene scene;

	scene_open(&scene, 64 << 20);
	for (uint32_t i = 0; i < OBJECTS; i++)
		take(&scene, i);
	ck_assert_uint_eq(atomic_load(&asked), OBJECTS);
	ck_assert_uint_le(atomic_load(&most_ahead), 40);
	/* Again, and in another order, from the cache; except the missing one. */
	for (uint32_t i = OBJECTS; i-- > 0;)
		take(&scene, i);
	ck_assert_uint_le(atomic_load(&asked), OBJECTS + 40);
	scene_close(&scene);
	ck_assert_int_eq(files(), OBJECTS - 1);

	/* The second time nothing is fetched. */
	scene_open(&scene, 64 << 20);
	for (uint32_t i = 8; i < OBJECTS; i++)
		take(&scene, i);
	ck_assert_uint_eq(atomic_load(&asked), 0);
	scene_close(&scene);
}
END_TEST

START_TEST(in_any_order_without_a_cache)
{
	struct scene scene;
	uint32_t at = 0;

	scene_open(&scene, 0);
	for (int i = 0; i < 100; i++) {
		at = at * 1103515245 + 12345;
		take(&scene, (at >> 16) % OBJECTS);
	}
	scene_close(&scene);
}
END_TEST

/* If reading is forbidden, not every object is requested. */
START_TEST(one_refusal_is_enough)
{
	struct scene scene;

	scene_open(&scene, 64 << 20);
	atomic_store(&refuse_all, 1);
	for (uint32_t i = 0; i < OBJECTS; i++)
		ck_assert_int_lt(prefetch_wait_object(scene.fetch, i), 0);
	ck_assert_uint_le(atomic_load(&asked), 40);
	scene_close(&scene);
	ck_assert_int_eq(files(), 0);
	atomic_store(&refuse_all, 0);
}
END_TEST

/* Prefetched objects that were never used are freed. */
START_TEST(closed_early)
{
	struct scene scene;
	int before, after;

	log_capture_start(); /* whose file stays open */
	before = dup(0);
	close(before);
	scene_open(&scene, 64 << 20);
	take(&scene, 0);
	scene_close(&scene);
	after = dup(0);
	close(after);
	ck_assert_int_eq(after, before);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("bucket cache");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, keeps_what_was_put);
	tcase_add_test(tcase, without_an_etag_the_time_counts);
	tcase_add_test(tcase, nothing_stays_of_a_failure);
	tcase_add_test(tcase, what_was_used_last_stays);
	tcase_add_test(tcase, without_a_place);
	tcase_add_test(tcase, each_is_fetched_once);
	tcase_add_test(tcase, in_any_order_without_a_cache);
	tcase_add_test(tcase, one_refusal_is_enough);
	tcase_add_test(tcase, closed_early);
	return suite_run(tcase);
}
