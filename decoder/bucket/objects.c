/* List of the objects in a bucket, and its filter. */
#include "decoder/bucket/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "decoder/bucket/object_name.h"
#include "profile/basics/intern.h"
#include "profile/basics/array.h"
#include "profile/basics/text.h"

#define SECOND_NS INT64_C(1000000000)
#define DAY_NS    (86400 * SECOND_NS)

/* A sample may be written into the next report, moments after it was taken. */
#define LATE_NS (2 * SECOND_NS)

/* Minimum time by which reports of the same process name may overlap, see reports_overlap_ns(). */
#define OVERLAP_MIN_NS (600 * SECOND_NS)

#define GROUPS_MAX 8

/* An object and the fields of its name. */
struct candidate {
	struct object object;
	struct object_name name;
	bool has_name;
	bool is_wanted;
};

struct bounds {
	int64_t from_ns, to_ns;
};

bool object_key_is_recording(const char *key)
{
	const char *name = text_base_name(key);

	return *name != '.' && (text_has_suffix(name, ".jfr") || text_has_suffix(name, ".zip") ||
				text_has_suffix(name, ".jfr.gz"));
}

int objects_add(struct objects *objects, const struct listing_entry *listed)
{
	size_t key = strlen(listed->key) + 1, etag = strlen(listed->etag) + 1;
	char *text;

	if (!object_key_is_recording(listed->key))
		return 0;
	if (array_reserve(&objects->list, &objects->room, objects->count, sizeof(*objects->list)))
		return -ENOMEM;
	text = malloc(key + etag);
	if (!text)
		return -ENOMEM;
	memcpy(text, listed->key, key);
	memcpy(text + key, listed->etag, etag);
	objects->list[objects->count++] = (struct object){ .key = text,
							   .etag = text + key,
							   .bytes = listed->bytes,
							   .modified = listed->modified,
							   .is_frozen = listed->is_frozen };
	return 0;
}

/* Get the ends of the first and the last wanted report. */
static bool candidates_span(const struct candidate *list, uint32_t count, int64_t *first_ns,
			    int64_t *last_ns)
{
	*first_ns = INT64_MAX;
	*last_ns = INT64_MIN;
	for (uint32_t i = 0; i < count; i++) {
		int64_t ns = list[i].name.seconds * SECOND_NS;

		if (!list[i].is_wanted || !list[i].has_name)
			continue;
		*first_ns = ns < *first_ns ? ns : *first_ns;
		*last_ns = ns > *last_ns ? ns : *last_ns;
	}
	return *first_ns != INT64_MAX;
}

/* Returns the last moment until BEFORE_NS with time of day OF_DAY_NS. */
static int64_t last_time_of_day(int64_t of_day_ns, int64_t before_ns)
{
	int64_t ns = before_ns - before_ns % DAY_NS + of_day_ns;

	return ns > before_ns ? ns - DAY_NS : ns;
}

/* Compute the bounds of the filter's period. They are unlimited where names cannot decide. */
static int bounds_from_filter(struct bounds *bounds, const struct upload_filter *filter,
			      int64_t first_ns, int64_t last_ns)
{
	bool days = last_ns - first_ns >= DAY_NS;

	*bounds = (struct bounds){ INT64_MIN, INT64_MAX };
	if (filter->from.kind == MOMENT_ABSOLUTE)
		bounds->from_ns = filter->from.ns;
	else if (filter->from.kind == MOMENT_OFFSET && filter->from.ns < 0)
		bounds->from_ns = last_ns + filter->from.ns;
	else if (filter->from.kind == MOMENT_DAY && days)
		bounds->from_ns = last_time_of_day(filter->from.ns, last_ns);

	if (filter->to.kind == MOMENT_ABSOLUTE)
		bounds->to_ns = filter->to.ns;
	else if (filter->to.kind == MOMENT_OFFSET && filter->to.ns < 0)
		bounds->to_ns = last_ns + SECOND_NS + filter->to.ns;
	else if (filter->to.kind == MOMENT_DAY && days && bounds->from_ns == INT64_MIN)
		return -EINVAL;
	else if (filter->to.kind == MOMENT_DAY && days) {
		int64_t midnight = bounds->from_ns - bounds->from_ns % DAY_NS;

		if (__builtin_add_overflow(midnight, filter->to.ns, &bounds->to_ns) ||
		    (bounds->to_ns < bounds->from_ns &&
		     __builtin_add_overflow(bounds->to_ns, DAY_NS, &bounds->to_ns)))
			bounds->to_ns = INT64_MAX;
	}
	return 0;
}

static int compare_process(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	size_t length = x->name.process_length;
	int order;

	if (x->has_name != y->has_name)
		return x->has_name ? -1 : 1;
	if (!x->has_name)
		return strcmp(x->object.key, y->object.key);
	length = length < y->name.process_length ? length : y->name.process_length;
	order = memcmp(x->name.process, y->name.process, length);
	if (!order && x->name.process_length != y->name.process_length)
		order = x->name.process_length < y->name.process_length ? -1 : 1;
	if (!order && x->name.seconds != y->name.seconds)
		order = x->name.seconds < y->name.seconds ? -1 : 1;
	return order ? order : strcmp(x->object.key, y->object.key);
}

static bool is_same_process(const struct candidate *a, const struct candidate *b)
{
	return a->has_name && b->has_name && a->name.process_length == b->name.process_length &&
	       !memcmp(a->name.process, b->name.process, a->name.process_length);
}

static int compare_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Returns how long before the end of the previous report one of these COUNT reports may have started. Containers of one
 * machine may have processes with the same group and pid. Then the previous report in LIST may be of another process,
 * and several of them may lie between two reports of one process. GAPS has room for COUNT - 1 numbers. */
static int64_t reports_overlap_ns(const struct candidate *list, uint32_t count, int64_t *gaps)
{
	int64_t most;

	for (uint32_t i = 1; i < count; i++)
		gaps[i - 1] = (list[i].name.seconds - list[i - 1].name.seconds) * SECOND_NS;
	if (count < 2)
		return OVERLAP_MIN_NS;
	qsort(gaps, count - 1, sizeof(*gaps), compare_number);
	/* Not the longest gap: a process may have paused. */
	if (__builtin_mul_overflow(gaps[(size_t)(count - 1) * 9 / 10], 4, &most))
		most = INT64_MAX;
	return most > OVERLAP_MIN_NS ? most : OVERLAP_MIN_NS;
}

/* Exclude reports of one process outside BOUNDS. */
static void exclude_process_times(struct candidate *list, uint32_t count,
				  const struct bounds *bounds, int64_t *gaps)
{
	int64_t overlap = reports_overlap_ns(list, count, gaps);

	for (uint32_t i = 0; i < count; i++) {
		/* The name's time is rounded down: the report may have ended up to a second later. */
		if ((list[i].name.seconds + 1) * SECOND_NS + LATE_NS <= bounds->from_ns)
			list[i].is_wanted = false;
		if (i && list[i - 1].name.seconds * SECOND_NS - overlap > bounds->to_ns)
			list[i].is_wanted = false;
	}
}

static int exclude_times(struct candidate *list, uint32_t count, const struct bounds *bounds)
{
	int64_t *gaps = calloc((size_t)count + 1, sizeof(*gaps));
	uint32_t first = 0;

	for (uint32_t i = 1; gaps && i <= count; i++)
		if (i == count || !is_same_process(&list[first], &list[i])) {
			if (list[first].has_name)
				exclude_process_times(list + first, i - first, bounds, gaps);
			first = i;
		}
	free(gaps);
	return gaps ? 0 : -ENOMEM;
}

/* Sort by time; objects without a time come last. */
static int compare_time(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->has_name != y->has_name)
		return x->has_name ? -1 : 1;
	if (x->has_name && x->name.seconds != y->name.seconds)
		return x->name.seconds < y->name.seconds ? -1 : 1;
	return strcmp(x->object.key, y->object.key);
}

int objects_filter(struct objects *objects, const struct upload_filter *filter)
{
	uint32_t count = objects->count, kept = 0;
	struct candidate *list = calloc((size_t)count + 1, sizeof(*list));
	int64_t first, last;
	struct bounds bounds;
	int err = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		list[i].object = objects->list[i];
		list[i].has_name = object_name_parse(&list[i].name, list[i].object.key);
		list[i].is_wanted = object_name_matches(list[i].object.key, filter);
	}
	if (candidates_span(list, count, &first, &last)) {
		err = bounds_from_filter(&bounds, filter, first, last);
		qsort(list, count, sizeof(*list), compare_process);
		if (!err)
			err = exclude_times(list, count, &bounds);
	}
	qsort(list, count, sizeof(*list), compare_time);
	for (uint32_t i = 0; i < count; i++)
		if (list[i].is_wanted && !err)
			objects->list[kept++] = list[i].object;
		else
			free(list[i].object.key);
	objects->count = kept;
	free(list);
	return err;
}

char *objects_describe_groups(const struct objects *objects)
{
	struct buf out = BUF_INIT(64u << 10);
	struct intern groups = INTERN_INIT;
	struct object_name name;
	char *text = NULL;

	for (uint32_t i = 0; i < objects->count; i++)
		if (object_name_parse(&name, objects->list[i].key))
			intern(&groups, name.group, name.group_length);
	for (uint32_t id = 1; id <= groups.count && id <= GROUPS_MAX; id++)
		buf_printf(&out, "%s%s", id > 1 ? ", " : "", intern_text(&groups, id));
	if (groups.count > GROUPS_MAX)
		buf_printf(&out, " and %u more", groups.count - GROUPS_MAX);
	if (buf_string(&out))
		text = strdup(groups.count ? buf_string(&out) : "none");
	intern_free(&groups);
	buf_free(&out);
	return text;
}

void objects_free(struct objects *objects)
{
	for (uint32_t i = 0; i < objects->count; i++)
		free(objects->list[i].key);
	free(objects->list);
	*objects = (struct objects){ 0 };
}
