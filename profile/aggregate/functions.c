/* Self and total weight of each function of a profile. */
#include "profile/aggregate/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/aggregate/frame_category.h"

/* Returns the function ID of each frame. Samples without a stack belong to function 1. Release with
 * free(). */
static uint32_t *number_frames(const struct profile *p, struct intern *keys)
{
	uint32_t *numbers = calloc((size_t)p->frames.count + 1, sizeof(*numbers));
	uint32_t key[2] = { 0, 0 };

	if (!numbers)
		return NULL;
	intern(keys, key, sizeof(key));
	for (uint32_t id = 1; id <= p->frames.count; id++) {
		key[0] = profile_frame(p, id)->name;
		key[1] = profile_frame(p, id)->module;
		numbers[id] = intern(keys, key, sizeof(key));
	}
	return numbers;
}

/* Compare X and Y by their text: IDs of names depend on which thread read which chunk first. */
static int compare_names(const struct function *x, const struct function *y,
			 const struct profile *p)
{
	int order;

	order = strcmp(intern_text(&p->names, x->name), intern_text(&p->names, y->name));
	if (order)
		return order;
	return strcmp(intern_text(&p->names, x->module), intern_text(&p->names, y->module));
}

/* Compare A to B, the larger one first. */
static int compare_weights(double a, double b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_by_self(const void *a, const void *b, void *profile)
{
	const struct function *x = a, *y = b;
	int order = compare_weights(x->self, y->self);

	if (!order)
		order = compare_weights(x->total, y->total);
	return order ? order : compare_names(x, y, profile);
}

static int compare_by_total(const void *a, const void *b, void *profile)
{
	const struct function *x = a, *y = b;
	int order = compare_weights(x->total, y->total);

	if (!order)
		order = compare_weights(x->self, y->self);
	return order ? order : compare_names(x, y, profile);
}

static int compare_by_own(const void *a, const void *b, void *profile)
{
	const struct function *x = a, *y = b;
	int order = compare_weights(x->own, y->own);

	return order ? order : compare_by_total(a, b, profile);
}

void functions_sort_by_own(struct functions *f, const struct profile *p)
{
	qsort_r(f->list, f->count, sizeof(*f->list), compare_by_own, (void *)p);
}

void functions_sort_by_total(struct functions *f, const struct profile *p)
{
	qsort_r(f->list, f->count, sizeof(*f->list), compare_by_total, (void *)p);
}

static bool is_thread(const void *arg, const struct sample *sample)
{
	uint32_t wanted = *(const uint32_t *)arg;

	return !wanted || wanted == sample->thread;
}

int functions_of(struct functions *functions, const struct profile *profile, enum metric metric,
		 bool by_total, uint32_t thread)
{
	return functions_of_some(functions, profile, metric, by_total, is_thread, &thread);
}

/* Add WEIGHT to the functions of STACK. MARK differs for each sample. */
static void functions_add_stack(struct functions *f, const struct profile *p, uint32_t stack,
				const uint32_t *numbers, double weight, uint32_t mark)
{
	static const uint32_t no_frame;
	const uint32_t *frames = intern_key(&p->stacks, stack);
	uint32_t depth = intern_length(&p->stacks, stack) / sizeof(*frames);
	bool has_own = false;

	if (!depth)
		frames = &no_frame;
	for (uint32_t k = 0; k < (depth ? depth : 1); k++) {
		struct function *function = &f->list[frames[k] ? numbers[frames[k]] - 1 : 0];

		if (!k)
			function->self += weight;
		if (function->seen != mark)
			function->total += weight;
		if (!has_own && function->category == FRAME_OWN) {
			function->own += weight;
			has_own = true;
		}
		function->seen = mark;
	}
}

int functions_of_some(struct functions *f, const struct profile *p, enum metric metric,
		      bool by_total, bool (*wanted)(const void *arg, const struct sample *sample),
		      const void *arg)
{
	struct intern keys = INTERN_INIT;
	uint32_t *numbers = number_frames(p, &keys);
	struct function *list;
	double variance = 0;

	*f = (struct functions){ .count = keys.count };
	f->list = calloc((size_t)keys.count + 1, sizeof(*f->list));
	if (!numbers || !f->list) {
		free(numbers);
		functions_free(f);
		intern_free(&keys);
		return -ENOMEM;
	}
	for (uint32_t id = 1; id <= keys.count; id++)
		memcpy(&f->list[id - 1].name, intern_key(&keys, id), 2 * sizeof(uint32_t));
	f->list[0].category = FRAME_LIBRARY; /* without a stack */
	for (uint32_t id = 1; id <= p->frames.count; id++)
		f->list[numbers[id] - 1].category = profile_frame(p, id)->category;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct sample *s = &p->samples[i];
		double weight = by_total ? s->total : s->count;

		if (s->metric != metric || !wanted(arg, s))
			continue;
		functions_add_stack(f, p, s->stack, numbers, weight, i + 1);
		f->weight += weight;
		variance += by_total ? s->total_variance : s->count_variance;
		f->samples += s->count;
	}
	f->effective = profile_effective(f->weight, variance);
	qsort_r(f->list, f->count, sizeof(*f->list), compare_by_self, (void *)p);
	while (f->count && f->list[f->count - 1].total == 0)
		f->count--;
	list = realloc(f->list, ((size_t)f->count + 1) * sizeof(*list));
	f->list = list ? list : f->list;
	free(numbers);
	intern_free(&keys);
	return 0;
}

void functions_free(struct functions *functions)
{
	free(functions->list);
	functions->list = NULL;
	functions->count = 0;
}
