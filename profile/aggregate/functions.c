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
	numbers[0] = intern(keys, key, sizeof(key));
	for (uint32_t id = 1; numbers[id - 1] && id <= p->frames.count; id++) {
		key[0] = profile_frame(p, id)->name;
		key[1] = profile_frame(p, id)->module;
		numbers[id] = intern(keys, key, sizeof(key));
	}
	if (numbers[p->frames.count])
		return numbers;
	free(numbers);
	return NULL; /* no memory */
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

int function_table_open(struct function_table *t, const struct profile *p)
{
	struct intern keys = INTERN_INIT;
	size_t room;

	*t = (struct function_table){ .numbers = number_frames(p, &keys) };
	room = (size_t)keys.count + 1;
	t->list = calloc(room, sizeof(*t->list));
	t->used = calloc(room, sizeof(*t->used));
	if (!t->numbers || !t->list || !t->used) {
		intern_free(&keys);
		return -ENOMEM;
	}
	for (uint32_t id = 1; id <= keys.count; id++)
		memcpy(&t->list[id - 1].name, intern_key(&keys, id), 2 * sizeof(uint32_t));
	t->list[0].category = FRAME_LIBRARY; /* without a stack */
	for (uint32_t id = 1; id <= p->frames.count; id++)
		t->list[t->numbers[id] - 1].category = profile_frame(p, id)->category;
	intern_free(&keys);
	return 0;
}

void function_table_free(struct function_table *t)
{
	free(t->numbers);
	free(t->list);
	free(t->used);
	*t = (struct function_table){ 0 };
}

/* Add WEIGHT to the functions of STACK. MARK differs for each sample; it is not 0. */
static void add_stack(struct function_table *t, const struct profile *p, uint32_t stack,
		      double weight, uint32_t mark)
{
	static const uint32_t no_frame;
	const uint32_t *frames = intern_key(&p->stacks, stack);
	uint32_t depth = intern_length(&p->stacks, stack) / sizeof(*frames);
	bool has_own = false;

	if (!depth)
		frames = &no_frame;
	for (uint32_t k = 0; k < (depth ? depth : 1); k++) {
		uint32_t number = frames[k] ? t->numbers[frames[k]] - 1 : 0;
		struct function *function = &t->list[number];

		if (!function->seen)
			t->used[t->used_count++] = number;
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

/* Sums over samples. */
struct summing {
	struct functions *functions;
	const struct profile *profile;
	struct function_table *table;
	bool by_total;
	double variance;
};

static void add_sample(struct summing *sum, uint32_t i)
{
	const struct sample *s = &sum->profile->samples[i];
	double weight = sum->by_total ? s->total : s->count;

	add_stack(sum->table, sum->profile, s->stack, weight, i + 1);
	sum->functions->weight += weight;
	sum->functions->samples += s->count;
	sum->variance += sum->by_total ? s->total_variance : s->count_variance;
}

/* Move the used functions out of the table. Sorting compares the names of equal ones, so functions without
 * a weight are omitted before. */
static int finish_sums(struct summing *sum)
{
	struct functions *f = sum->functions;
	struct function_table *t = sum->table;

	f->list = calloc((size_t)t->used_count + 1, sizeof(*f->list));
	for (uint32_t i = 0; i < t->used_count; i++) {
		struct function *function = &t->list[t->used[i]];

		if (f->list && function->total != 0)
			f->list[f->count++] = *function;
		function->self = function->total = function->own = 0;
		function->seen = 0;
	}
	t->used_count = 0;
	if (!f->list)
		return -ENOMEM;
	f->effective = profile_effective(f->weight, sum->variance);
	qsort_r(f->list, f->count, sizeof(*f->list), compare_by_self,
		(void *)(uintptr_t)sum->profile);
	return 0;
}

int functions_of_list(struct functions *f, const struct profile *p, struct function_table *table,
		      bool by_total, const uint32_t *samples, uint32_t count)
{
	struct summing sum = { .functions = f, .profile = p, .table = table, .by_total = by_total };

	*f = (struct functions){ 0 };
	for (uint32_t i = 0; i < count; i++)
		add_sample(&sum, samples[i]);
	return finish_sums(&sum);
}

int functions_of_some(struct functions *f, const struct profile *p, enum metric metric,
		      bool by_total, bool (*wanted)(const void *arg, const struct sample *sample),
		      const void *arg)
{
	struct function_table table;
	struct summing sum = {
		.functions = f, .profile = p, .table = &table, .by_total = by_total
	};
	int err = function_table_open(&table, p);

	*f = (struct functions){ 0 };
	for (uint32_t i = 0; i < p->count && !err; i++)
		if (p->samples[i].metric == metric && wanted(arg, &p->samples[i]))
			add_sample(&sum, i);
	if (!err)
		err = finish_sums(&sum);
	function_table_free(&table);
	return err;
}

void functions_free(struct functions *functions)
{
	free(functions->list);
	functions->list = NULL;
	functions->count = 0;
}
