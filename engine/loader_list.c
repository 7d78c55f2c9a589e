/* The dynamic loader's list of modules. */
#include "engine/loader_list.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FORK_WAIT_NS 200000000

/* Held around dl_iterate_phdr(3), whose own lock is out of reach. */
static pthread_mutex_t loader_mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread bool fork_holds; /* several threads may be between prepare and the rest */

static void fork_prepare(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += FORK_WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	fork_holds = !pthread_mutex_timedlock(&loader_mutex, &until);
}

static void fork_parent(void)
{
	if (fork_holds)
		pthread_mutex_unlock(&loader_mutex);
}

static void fork_child(void)
{
	pthread_mutex_init(&loader_mutex, NULL);
}

int loader_list_init(void)
{
	static bool fork_handled;
	int err = fork_handled ? 0 : pthread_atfork(fork_prepare, fork_parent, fork_child);

	fork_handled = !err;
	return -err;
}

static void iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	pthread_mutex_lock(&loader_mutex);
	dl_iterate_phdr(callback, data);
	pthread_mutex_unlock(&loader_mutex);
}

static int take_counts(struct dl_phdr_info *info, size_t size, void *data)
{
	struct loader_counts *counts = data;

	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
		counts->adds = info->dlpi_adds;
		counts->subs = info->dlpi_subs;
	}
	return 1; /* the counts are the same in every entry */
}

struct loader_counts loader_list_counts(void)
{
	struct loader_counts counts = { 0 };

	iterate(take_counts, &counts);
	return counts;
}

/* What the list has room for is taken, and all of it counted. */
struct taking {
	struct loader_list *list;
	size_t images, name_bytes;
};

static int take(struct dl_phdr_info *info, size_t size, void *data)
{
	struct taking *taking = data;
	struct loader_list *list = taking->list;
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	size_t name_at = taking->name_bytes, name_size = strlen(name) + 1;
	struct image *image;

	(void)size;
	taking->images++;
	taking->name_bytes += name_size;
	if (taking->images > list->image_room || taking->name_bytes > list->name_room)
		return 0;
	image = &list->images[list->count++];
	image->fd = -1;
	image->bias = info->dlpi_addr;
	image->phdr_count = info->dlpi_phnum <= IMAGE_PHDRS_MAX ? info->dlpi_phnum : 0;
	memcpy(image->phdrs, info->dlpi_phdr, image->phdr_count * sizeof(image->phdrs[0]));
	image->path = memcpy(list->names + name_at, name, name_size);
	return 0;
}

static int make_room(struct loader_list *list, size_t images, size_t name_bytes)
{
	loader_list_free(list);
	list->images = reallocarray(NULL, images, sizeof(*list->images));
	list->names = malloc(name_bytes);
	if (!list->images || !list->names)
		return -ENOMEM;
	list->image_room = images;
	list->name_room = name_bytes;
	return 0;
}

int loader_list_read(struct loader_list *list)
{
	struct taking taking = { .list = list };

	memset(list, 0, sizeof(*list));
	iterate(take, &taking);
	/* More may have come in the meantime. */
	while (taking.images > list->count) {
		if (make_room(list, taking.images, taking.name_bytes))
			return -ENOMEM;
		taking.images = taking.name_bytes = 0;
		iterate(take, &taking);
	}
	return 0;
}

void loader_list_free(struct loader_list *list)
{
	free(list->images);
	free(list->names);
	memset(list, 0, sizeof(*list));
}
