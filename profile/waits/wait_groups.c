/* Wall-clock samples grouped by what their threads did or waited for. */
#include "profile/waits/wait_groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/aggregate/frame_category.h"
#include "profile/basics/array.h"

#define BIT(cause) (1u << (cause))

#define OWNED (BIT(WAIT_LOCK) | BIT(WAIT_SEMAPHORE) | BIT(WAIT_GIL))

const char *const wait_by_names[WAIT_BYS] = {
	[WAIT_BY_CAUSE] = "cause", [WAIT_BY_PEER] = "peer",     [WAIT_BY_FILE] = "file",
	[WAIT_BY_LOCK] = "lock",   [WAIT_BY_HOLDER] = "holder", [WAIT_BY_THREAD] = "thread",
};

/* Causes of the waits that are grouped; 0: all samples. */
static const uint32_t by_causes[WAIT_BYS] = {
	[WAIT_BY_PEER] = BIT(WAIT_CONNECT) | BIT(WAIT_ACCEPT) | BIT(WAIT_SOCKET_READ) |
			 BIT(WAIT_SOCKET_WRITE),
	[WAIT_BY_FILE] = BIT(WAIT_FILE) | BIT(WAIT_PAGE_FAULT),
	[WAIT_BY_LOCK] = OWNED | BIT(WAIT_CONDITION),
	[WAIT_BY_HOLDER] = OWNED,
};

uint32_t wait_own_frame(const struct profile *p, uint32_t stack)
{
	const uint32_t *frames = intern_key(&p->stacks, stack);
	uint32_t depth = intern_length(&p->stacks, stack) / sizeof(*frames);

	for (uint32_t i = 0; i < depth; i++)
		if (profile_frame(p, frames[i])->category == FRAME_OWN)
			return frames[i];
	return depth ? frames[0] : 0;
}

/* Interned by its bytes. */
struct thread_id {
	uint32_t tid, labels;
};

int thread_index_open(struct thread_index *index, const struct profile *p)
{
	*index = (struct thread_index){
		.threads = calloc((size_t)p->threads.count + 1, sizeof(*index->threads)),
	};
	for (uint32_t id = 1; index->threads && id <= p->threads.count; id++) {
		const struct thread_key *thread = intern_key(&p->threads, id);
		struct thread_id key = { thread->tid, thread->labels };
		uint32_t number = intern(&index->keys, &key, sizeof(key));

		if (!number)
			return -ENOMEM;
		if (!index->threads[number]) /* the first one of that ID */
			index->threads[number] = id;
	}
	return index->threads ? 0 : -ENOMEM;
}

void thread_index_free(struct thread_index *index)
{
	intern_free(&index->keys);
	free(index->threads);
	*index = (struct thread_index){ 0 };
}

uint32_t thread_index_find(const struct thread_index *index, const struct profile *p, uint32_t near,
			   uint32_t tid)
{
	const struct thread_key *thread = intern_key(&p->threads, near);
	struct thread_id key = { tid, thread->labels };
	uint32_t number = intern_find(&index->keys, &key, sizeof(key));

	return number ? index->threads[number] : 0;
}

const char *wait_lock_name(const char *on)
{
	const char *address = strncmp(on, "lock ", 5) ? on : on + 5;
	const char *symbol = strchr(address, ' ');

	return symbol && symbol[1] && !strncmp(address, "0x", 2) ? symbol + 1 : address;
}

/* Set TEXT to the owner's function, or else to its thread. */
static void format_holder(struct wait_groups *g, const struct sample *s, const struct wait *wait,
			  char *text, size_t size)
{
	const struct profile *p = g->profile;
	uint32_t frame = wait_own_frame(p, wait->owner_stack);

	if (frame)
		snprintf(text, size, "%s", profile_frame_name(p, frame));
	else if (wait->owner)
		profile_thread_name(p,
				    thread_index_find(&g->threads_by_id, p, s->thread, wait->owner),
				    text, size);
	else
		snprintf(text, size, "unknown");
}

static void format_cause(const struct profile *p, const struct wait *wait, char *text, size_t size)
{
	const char *call = intern_text(&p->names, wait->call);

	if (wait->state == WAIT_UNKNOWN)
		snprintf(text, size, "unknown state");
	else if (wait->state != WAIT_WAITING)
		snprintf(text, size, "%s", jfr_wait_states[wait->state]);
	else if (wait->cause == WAIT_SYSCALL && *call)
		snprintf(text, size, "syscall %s", call);
	else
		snprintf(text, size, "%s", jfr_wait_causes[wait->cause]);
}

static void format_name(struct wait_groups *g, const struct sample *s, const struct wait *wait,
			char *text, size_t size)
{
	const char *on = intern_text(&g->profile->names, wait->on);

	switch (g->by) {
	case WAIT_BY_THREAD:
		profile_thread_name(g->profile, s->thread, text, size);
		break;
	case WAIT_BY_HOLDER:
		format_holder(g, s, wait, text, size);
		break;
	case WAIT_BY_CAUSE:
		format_cause(g->profile, wait, text, size);
		break;
	default:
		snprintf(text, size, "%s", *on ? on : "unknown");
	}
}

static bool is_grouped(enum wait_by by, const struct wait *wait)
{
	return !by_causes[by] || (wait->state == WAIT_WAITING && by_causes[by] & BIT(wait->cause));
}

/* Threads that are counted: pairs of a group and a thread. */
static bool is_new_thread(struct intern *seen, uint32_t group, uint32_t thread, bool *failed)
{
	uint32_t pair[2] = { group, thread }, before = seen->count;

	*failed |= !intern(seen, pair, sizeof(pair));
	return seen->count != before;
}

/* Returns the group of ID in the list, which is not sorted yet; NULL when out of memory. */
static struct wait_group *find_group(struct wait_groups *g, uint32_t id)
{
	if (id <= g->count)
		return &g->list[id - 1];
	if (array_reserve(&g->list, &g->capacity, id - 1, sizeof(*g->list)))
		return NULL;
	g->list[id - 1] = (struct wait_group){ .id = id };
	g->count = id;
	return &g->list[id - 1];
}

static void group_add(struct wait_group *group, const struct wait *wait, double weight,
		      double samples)
{
	group->state = (enum wait_state)wait->state;
	group->cause = (enum wait_cause)wait->cause;
	group->weight += weight;
	group->states[wait->state] += weight;
	group->samples += samples;
}

/* Add sample I. Returns false when out of memory. */
static bool add_sample(struct wait_groups *g, uint32_t i, uint32_t states, uint32_t causes,
		       struct intern *seen)
{
	const struct sample *s = &g->profile->samples[i];
	const struct wait *wait = profile_wait(g->profile, s->wait);
	double weight = wait_groups_weight(g, s);
	struct wait_group *group;
	bool failed = false;
	char name[512];

	g->weight += weight;
	g->states[wait->state] += weight;
	g->derived += wait->is_derived ? weight : 0;
	g->threads += is_new_thread(seen, 0, s->thread, &failed);
	if (!wait_matches(wait, states, causes) || !is_grouped(g->by, wait))
		return !failed;
	format_name(g, s, wait, name, sizeof(name));
	g->ids[i] = intern_string(&g->names, name);
	group = g->ids[i] ? find_group(g, g->ids[i]) : NULL;
	if (!group)
		return false;
	group_add(group, wait, weight, s->count);
	group->threads += is_new_thread(seen, group->id, s->thread, &failed);
	return !failed;
}

/* Idle event loops come last: they are mostly the heaviest and say the least. */
static int compare_groups(const void *a, const void *b, void *arg)
{
	const struct wait_groups *g = arg;
	const struct wait_group *x = a, *y = b;
	bool x_idle = g->by == WAIT_BY_CAUSE && x->cause == WAIT_IDLE;
	bool y_idle = g->by == WAIT_BY_CAUSE && y->cause == WAIT_IDLE;

	if (x_idle != y_idle)
		return x_idle - y_idle;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return strcmp(intern_text(&g->names, x->id), intern_text(&g->names, y->id));
}

/* Number the samples by group. */
static int groups_number_samples(struct wait_groups *g)
{
	uint32_t count = g->profile->count, groups = g->count;
	uint32_t *starts = calloc((size_t)groups + 2, sizeof(*starts));

	g->starts = starts;
	g->samples = calloc((size_t)count + 1, sizeof(*g->samples));
	g->table = calloc(1, sizeof(*g->table));
	if (!starts || !g->samples || !g->table || function_table_open(g->table, g->profile))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		starts[g->ids[i] + 1]++;
	for (uint32_t id = 1; id <= groups + 1; id++)
		starts[id] += starts[id - 1];
	for (uint32_t i = 0; i < count; i++)
		g->samples[starts[g->ids[i]]++] = i;
	for (uint32_t id = groups + 1; id; id--) /* each is the end of its group now */
		starts[id] = starts[id - 1];
	starts[0] = 0;
	return 0;
}

int wait_groups_make(struct wait_groups *g, const struct profile *p, enum wait_by by,
		     uint32_t states, uint32_t causes)
{
	struct intern seen = INTERN_INIT;
	int err = 0;

	*g = (struct wait_groups){ .profile = p, .by = by };
	g->ids = calloc((size_t)p->count + 1, sizeof(*g->ids));
	for (uint32_t i = 0; i < p->count; i++)
		g->by_total |= p->samples[i].metric == METRIC_WALL && p->samples[i].total > 0;
	if (thread_index_open(&g->threads_by_id, p) || !g->ids)
		err = -ENOMEM;
	for (uint32_t i = 0; i < p->count && !err; i++)
		if (p->samples[i].metric == METRIC_WALL && !add_sample(g, i, states, causes, &seen))
			err = -ENOMEM;
	if (!err)
		err = groups_number_samples(g);
	if (!err && g->count)
		qsort_r(g->list, g->count, sizeof(*g->list), compare_groups, g);
	intern_free(&seen);
	return err;
}

void wait_groups_free(struct wait_groups *g)
{
	intern_free(&g->names);
	free(g->list);
	free(g->ids);
	free(g->samples);
	free(g->starts);
	if (g->table)
		function_table_free(g->table);
	free(g->table);
	thread_index_free(&g->threads_by_id);
	*g = (struct wait_groups){ 0 };
}

int wait_group_functions(struct functions *f, const struct wait_groups *g, uint32_t group)
{
	uint32_t count;
	const uint32_t *samples = wait_group_samples(g, group, &count);
	int err = functions_of_list(f, g->profile, g->table, g->by_total, samples, count);

	if (err)
		return err;
	functions_sort_by_own(f, g->profile);
	while (f->count && f->list[f->count - 1].own <= 0)
		f->count--;
	return 0;
}

static int compare_owners(const void *a, const void *b, void *arg)
{
	const struct profile *p = arg;
	const struct wait_owner *x = a, *y = b;
	int order;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	order = strcmp(profile_frame_name(p, x->frame), profile_frame_name(p, y->frame));
	if (order)
		return order;
	return strcmp(intern_text(&p->names, x->on), intern_text(&p->names, y->on));
}

/* Add sample I, whose owner is known, to the list. KEYS has the list's keys. */
static bool owners_add(const struct wait_groups *g, struct wait_owner *list, struct intern *keys,
		       uint32_t i)
{
	const struct profile *p = g->profile;
	const struct sample *s = &p->samples[i];
	const struct wait *wait = profile_wait(p, s->wait);
	uint32_t frame = wait_own_frame(p, wait->owner_stack);
	uint32_t key[3] = { profile_frame(p, frame)->name, wait->on, frame ? 0 : wait->owner };
	uint32_t id = intern(keys, key, sizeof(key));
	double weight = wait_groups_weight(g, s);
	struct wait_owner *owner;

	if (!id)
		return false;
	owner = &list[id - 1];
	owner->frame = frame;
	owner->on = wait->on;
	owner->weight += weight;
	if (weight > owner->heaviest) {
		owner->heaviest = weight;
		owner->sample = i;
	}
	return true;
}

int wait_owners_list(const struct wait_groups *g, uint32_t group, struct wait_owner **list,
		     uint32_t *count, double *unknown)
{
	const struct profile *p = g->profile;
	struct intern keys = INTERN_INIT;
	uint32_t length;
	const uint32_t *samples = wait_group_samples(g, group, &length);
	int err = 0;

	*unknown = 0;
	*count = 0;
	*list = calloc((size_t)length + 1, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	for (uint32_t k = 0; k < length && !err; k++) {
		uint32_t i = samples[k];
		const struct wait *wait = profile_wait(p, p->samples[i].wait);

		if (wait->state != WAIT_WAITING)
			continue;
		if (wait->owner || wait->owner_stack)
			err = owners_add(g, *list, &keys, i) ? 0 : -ENOMEM;
		else if (OWNED & BIT(wait->cause) && !wait->is_derived)
			*unknown += wait_groups_weight(g, &p->samples[i]);
	}
	*count = keys.count;
	qsort_r(*list, *count, sizeof(**list), compare_owners, (void *)(uintptr_t)p);
	intern_free(&keys);
	if (err) {
		free(*list);
		*list = NULL;
	}
	return err;
}
