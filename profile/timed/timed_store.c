/* All samples of recordings, in a temporary file. */
#include "profile/timed/timed_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/basics/text.h"
#include "profile/timed/timed_read.h"
#include "profile/timed/timed_spans.h"

#define FIRST_CAPACITY (1u << 14)

/* Map a new file of CAPACITY samples. */
static int samples_map(struct timed_sample **samples, int fd, uint64_t capacity)
{
	void *data;

	if (ftruncate(fd, (off_t)(capacity * sizeof(**samples))))
		return -errno;
	data = mmap(NULL, capacity * sizeof(**samples), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	*samples = data;
	return 0;
}

static int store_grow(struct timed_store *store)
{
	uint64_t capacity = store->capacity ? store->capacity * 2 : FIRST_CAPACITY;
	int err;

	if (store->samples)
		munmap(store->samples, store->capacity * sizeof(*store->samples));
	store->samples = NULL;
	store->capacity = 0;
	err = samples_map(&store->samples, store->fd, capacity);
	if (!err)
		store->capacity = capacity;
	return err;
}

static int store_add_sample(void *arg, const struct timed_sample *sample)
{
	struct timed_store *store = arg;
	int err = store->count == store->capacity ? store_grow(store) : 0;

	if (!err)
		store->samples[store->count++] = *sample;
	return err;
}

static int store_add_mark(void *arg, const struct timed_mark *mark)
{
	struct timed_store *store = arg;
	int err = buf_append(&store->mark_bytes, mark, sizeof(*mark));

	if (err == -EFBIG)
		store->marks_cut++;
	return err == -EFBIG ? 0 : err;
}

static int compare_groups(const void *a, const void *b, void *arg)
{
	const struct timed_group *x = a, *y = b;
	const struct profile *p = arg;
	const struct thread_key *s = intern_key(&p->threads, x->thread),
				*t = intern_key(&p->threads, y->thread);
	int order;

	if (s->labels != t->labels) {
		order = strcmp(intern_text(&p->names, s->labels),
			       intern_text(&p->names, t->labels));
		if (order)
			return order;
	}
	order = profile_compare_threads(p, x->thread, y->thread);
	if (order)
		return order;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->metric > y->metric) - (x->metric < y->metric);
}

static int compare_samples(const void *a, const void *b)
{
	const struct timed_sample *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int compare_marks(const void *a, const void *b)
{
	const struct timed_mark *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* Count the samples of each thread and metric into COUNTS, and make the groups. */
static int store_make_groups(struct timed_store *store, uint64_t *counts)
{
	uint64_t at = 0;
	uint32_t threads = store->profile.threads.count + 1, n = 0;

	for (uint64_t i = 0; i < store->count; i++)
		counts[(uint64_t)store->samples[i].thread * METRICS + store->samples[i].metric]++;
	for (uint64_t i = 0; i < (uint64_t)threads * METRICS; i++)
		store->group_count += counts[i] > 0;
	store->groups = calloc((size_t)store->group_count + 1, sizeof(*store->groups));
	if (!store->groups)
		return -ENOMEM;
	for (uint32_t i = 0; i < threads * METRICS; i++)
		if (counts[i])
			store->groups[n++] = (struct timed_group){ .thread = i / METRICS,
								   .metric = i % METRICS };
	qsort_r(store->groups, n, sizeof(*store->groups), compare_groups, &store->profile);
	for (uint32_t i = 0; i < n; i++) {
		struct timed_group *group = &store->groups[i];
		uint64_t *count = &counts[group->thread * METRICS + group->metric];

		store->has_metrics |= group->metric != store->groups[0].metric;
		group->from = at;
		at += *count;
		group->to = at;
		*count = group->from; /* from now on the place of the next sample */
	}
	return 0;
}

/* Move the samples to a second file, group by group. */
static int store_scatter(struct timed_store *store, uint64_t *places, int fd)
{
	struct timed_sample *sorted = NULL;
	uint64_t capacity = store->count;
	int err = samples_map(&sorted, fd, capacity);

	if (err)
		return err;
	for (uint64_t i = 0; i < store->count; i++) {
		const struct timed_sample *s = &store->samples[i];

		sorted[places[(uint64_t)s->thread * METRICS + s->metric]++] = *s;
	}
	for (uint32_t i = 0; i < store->group_count; i++)
		qsort(sorted + store->groups[i].from, store->groups[i].to - store->groups[i].from,
		      sizeof(*sorted), compare_samples);
	munmap(store->samples, store->capacity * sizeof(*store->samples));
	store->samples = sorted;
	store->capacity = capacity;
	return 0;
}

static int store_sort_samples(struct timed_store *store, int (*make_file)(void))
{
	size_t keys = ((size_t)store->profile.threads.count + 1) * METRICS;
	uint64_t *counts = calloc(keys, sizeof(*counts));
	int err = counts ? store_make_groups(store, counts) : -ENOMEM, fd;

	if (!err && store->count) {
		fd = make_file();
		err = fd < 0 ? -errno : store_scatter(store, counts, fd);
		if (fd >= 0 && !err) {
			close(store->fd);
			store->fd = fd;
		} else if (fd >= 0) {
			close(fd);
		}
	}
	free(counts);
	return err;
}

/* Number the marks by thread, after they were sorted by time. */
static int store_group_marks(struct timed_store *store)
{
	size_t threads = (size_t)store->profile.threads.count + 1;
	uint32_t *starts = calloc(threads + 1, sizeof(*starts));
	uint32_t *marks = calloc(store->mark_count + 1, sizeof(*marks));

	store->mark_starts = starts;
	store->thread_marks = marks;
	if (!starts || !marks)
		return -ENOMEM;
	for (size_t i = 0; i < store->mark_count; i++)
		starts[store->marks[i].thread + 1]++;
	for (size_t t = 1; t <= threads; t++)
		starts[t] += starts[t - 1];
	for (size_t i = 0; i < store->mark_count; i++)
		marks[starts[store->marks[i].thread]++] = (uint32_t)i;
	for (size_t t = threads; t; t--) /* each is the end of its thread now */
		starts[t] = starts[t - 1];
	starts[0] = 0;
	return 0;
}

const uint32_t *timed_store_marks(const struct timed_store *store, uint32_t thread, uint32_t *count)
{
	*count = 0;
	if (!store->mark_starts || !store->thread_marks) /* the recording could not be read */
		return NULL;
	*count = store->mark_starts[thread + 1] - store->mark_starts[thread];
	return store->thread_marks + store->mark_starts[thread];
}

int timed_store_read(struct timed_store *store, const struct query *query, struct feed *feed,
		     uint32_t metrics, int (*make_file)(void))
{
	const struct timed_visitor visitor = { .arg = store,
					       .sample = store_add_sample,
					       .mark = store_add_mark };
	int err, sorted;

	*store = (struct timed_store){
		.profile = PROFILE_INIT,
		.mark_bytes = BUF_INIT(TIMED_MARKS_MAX * sizeof(struct timed_mark)),
	};
	store->fd = make_file();
	if (store->fd < 0)
		return -errno;
	err = timed_read(&store->profile, query, feed, metrics, &visitor);
	if (err && err != -EIO)
		return err;
	sorted = store_sort_samples(store, make_file);
	for (uint32_t i = 0; i < store->group_count && !sorted; i++)
		if (store->groups[i].metric <= METRIC_WALL)
			sorted = timed_spans_add(&store->profile, store->samples, &store->groups[i],
						 store_add_mark, store);
	store->marks = (void *)store->mark_bytes.data;
	store->mark_count = store->mark_bytes.length / sizeof(*store->marks);
	if (store->mark_count)
		qsort(store->marks, store->mark_count, sizeof(*store->marks), compare_marks);
	if (!sorted)
		sorted = store_group_marks(store);
	return sorted ? sorted : err;
}

void timed_store_free(struct timed_store *store)
{
	if (store->samples)
		munmap(store->samples, store->capacity * sizeof(*store->samples));
	if (store->fd > 0)
		close(store->fd);
	free(store->groups);
	free(store->thread_marks);
	free(store->mark_starts);
	buf_free(&store->mark_bytes);
	profile_free(&store->profile);
	*store = (struct timed_store){ .profile = PROFILE_INIT, .fd = -1 };
}

void timed_store_process(const struct timed_store *store, uint32_t thread, char *name, size_t size)
{
	const struct thread_key *key = intern_key(&store->profile.threads, thread);
	const char *value =
		text_find_line(intern_text(&store->profile.names, key->labels), "process", true);

	snprintf(name, size, "%.*s", value ? (int)strcspn(value, "\n") : 0, value ? value : "");
	text_clean_string(name);
}
