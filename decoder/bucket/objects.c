/* The objects below a prefix, and which of them are worth fetching. */
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

/* A sample may be written some moments after it was taken, into the next report. */
#define LATE_NS (2 * SECOND_NS)

/* Reports of one name but for their time may overlap by so much, see reports_overlap_ns(). */
#define OVERLAP_MIN_NS (600 * SECOND_NS)

#define GROUPS_MAX 8

/* An object, and what its name tells. */
struct candidate {
	struct object object;
	struct object_name name;
	bool named;
	bool wanted;
};

struct bounds {
	int64_t from_ns, to_ns;
};

static bool object_key_is_recording(const char *key)
{
	const char *slash = strrchr(key, '/'), *name = slash ? slash + 1 : key;

	return *name != '.' && (text_has_suffix(name, ".jfr") || text_has_suffix(name, ".zip") ||
				text_has_suffix(name, ".jfr.gz"));
}

int objects_add(struct objects *objects, const struct listed *listed)
{
	size_t key = strlen(listed->key) + 1, etag = strlen(listed->etag) + 1;
	struct object *list;
	char *text;

	if (!object_key_is_recording(listed->key))
		return 0;
	list = array_reserve(objects->list, &objects->room, objects->count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	objects->list = list;
	text = malloc(key + etag);
	if (!text)
		return -ENOMEM;
	memcpy(text, listed->key, key);
	memcpy(text + key, listed->etag, etag);
	list[objects->count++] = (struct object){ .key = text,
						  .etag = text + key,
						  .bytes = listed->bytes,
						  .modified = listed->modified,
						  .frozen = listed->frozen };
	objects->listed++;
	return 0;
}

/* The ends of the first and the last report that are asked for. */
static bool candidates_span(const struct candidate *list, uint32_t count, int64_t *first_ns,
			    int64_t *last_ns)
{
	*first_ns = INT64_MAX;
	*last_ns = INT64_MIN;
	for (uint32_t i = 0; i < count; i++) {
		int64_t ns = list[i].name.seconds * SECOND_NS;

		if (!list[i].wanted || !list[i].named)
			continue;
		*first_ns = ns < *first_ns ? ns : *first_ns;
		*last_ns = ns > *last_ns ? ns : *last_ns;
	}
	return *first_ns != INT64_MAX;
}

/* The last moment up to BEFORE_NS at which it is OF_DAY_NS after midnight. */
static int64_t last_time_of_day(int64_t of_day_ns, int64_t before_ns)
{
	int64_t ns = before_ns - before_ns % DAY_NS + of_day_ns;

	return ns > before_ns ? ns - DAY_NS : ns;
}

/* Where names do not tell, the bounds are as wide as can be. */
static int bounds_from_filter(struct bounds *bounds, const struct pick *pick, int64_t first_ns,
			      int64_t last_ns)
{
	bool days = last_ns - first_ns >= DAY_NS;

	*bounds = (struct bounds){ INT64_MIN, INT64_MAX };
	if (pick->from.kind == MOMENT_ABSOLUTE)
		bounds->from_ns = pick->from.ns;
	else if (pick->from.kind == MOMENT_OFFSET && pick->from.ns < 0)
		bounds->from_ns = last_ns + pick->from.ns;
	else if (pick->from.kind == MOMENT_DAY && days)
		bounds->from_ns = last_time_of_day(pick->from.ns, last_ns);

	if (pick->to.kind == MOMENT_ABSOLUTE)
		bounds->to_ns = pick->to.ns;
	else if (pick->to.kind == MOMENT_OFFSET && pick->to.ns < 0)
		bounds->to_ns = last_ns + SECOND_NS + pick->to.ns;
	else if (pick->to.kind == MOMENT_DAY && days && bounds->from_ns == INT64_MIN)
		return -EINVAL;
	else if (pick->to.kind == MOMENT_DAY && days) {
		int64_t midnight = bounds->from_ns - bounds->from_ns % DAY_NS;

		if (__builtin_add_overflow(midnight, pick->to.ns, &bounds->to_ns) ||
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

	if (x->named != y->named)
		return x->named ? -1 : 1;
	if (!x->named)
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
	return a->named && b->named && a->name.process_length == b->name.process_length &&
	       !memcmp(a->name.process, b->name.process, a->name.process_length);
}

static int compare_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* How long before the end of the report before the COUNT reports in LIST may have begun. Containers of
 * one machine may each have a process of that group and pid: then it is not the one before that a
 * report follows, and all that is known is that several lie between two of the same process. GAPS has
 * room for their number. */
static int64_t reports_overlap_ns(const struct candidate *list, uint32_t count, int64_t *gaps)
{
	int64_t most;

	for (uint32_t i = 1; i < count; i++)
		gaps[i - 1] = (list[i].name.seconds - list[i - 1].name.seconds) * SECOND_NS;
	if (count < 2)
		return OVERLAP_MIN_NS;
	qsort(gaps, count - 1, sizeof(*gaps), compare_number);
	/* Not the longest: a process may have been away. */
	if (__builtin_mul_overflow(gaps[(size_t)(count - 1) * 9 / 10], 4, &most))
		most = INT64_MAX;
	return most > OVERLAP_MIN_NS ? most : OVERLAP_MIN_NS;
}

/* Those of one process. */
static void exclude_process_times(struct candidate *list, uint32_t count,
				  const struct bounds *bounds, int64_t *gaps)
{
	int64_t overlap = reports_overlap_ns(list, count, gaps);

	for (uint32_t i = 0; i < count; i++) {
		/* Seconds are cut off: it ended before the next one. */
		if ((list[i].name.seconds + 1) * SECOND_NS + LATE_NS <= bounds->from_ns)
			list[i].wanted = false;
		if (i && list[i - 1].name.seconds * SECOND_NS - overlap > bounds->to_ns)
			list[i].wanted = false;
	}
}

static int exclude_times(struct candidate *list, uint32_t count, const struct bounds *bounds)
{
	int64_t *gaps = calloc((size_t)count + 1, sizeof(*gaps));
	uint32_t first = 0;

	for (uint32_t i = 1; gaps && i <= count; i++)
		if (i == count || !is_same_process(&list[first], &list[i])) {
			if (list[first].named)
				exclude_process_times(list + first, i - first, bounds, gaps);
			first = i;
		}
	free(gaps);
	return gaps ? 0 : -ENOMEM;
}

/* By time, and what does not tell its time last. */
static int compare_time(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->named != y->named)
		return x->named ? -1 : 1;
	if (x->named && x->name.seconds != y->name.seconds)
		return x->name.seconds < y->name.seconds ? -1 : 1;
	return strcmp(x->object.key, y->object.key);
}

int objects_filter(struct objects *objects, const struct pick *pick)
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
		list[i].named = object_name_parse(&list[i].name, list[i].object.key);
		list[i].wanted = object_name_matches(list[i].object.key, pick);
	}
	if (candidates_span(list, count, &first, &last)) {
		err = bounds_from_filter(&bounds, pick, first, last);
		qsort(list, count, sizeof(*list), compare_process);
		if (!err)
			err = exclude_times(list, count, &bounds);
	}
	qsort(list, count, sizeof(*list), compare_time);
	for (uint32_t i = 0; i < count; i++)
		if (list[i].wanted && !err)
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
