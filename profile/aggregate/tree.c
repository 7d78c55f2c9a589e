/* Call tree of a profile, from the outermost frames inwards. */
#include "profile/aggregate/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/aggregate/frame_category.h"
#include "profile/basics/hash.h"

/* Compiled, interpreted and inlined code of one method is one node. */
static uint32_t common_type(uint32_t type)
{
	return type <= JFR_FRAME_INLINED || type == JFR_FRAME_C1 ? JFR_FRAME_JIT : type;
}

static uint32_t *tree_find_slot(const struct tree *t, uint32_t parent, uint32_t name, uint32_t type)
{
	uint64_t hash = hash_add(hash_start(), (uint64_t)parent << 32 | name);
	uint32_t mask = t->slot_count - 1, i;

	hash = hash_add(hash, type);
	for (i = (uint32_t)(hash >> 32) & mask; t->slots[i]; i = (i + 1) & mask) {
		const struct node *n = &t->nodes[t->slots[i]];

		if (n->parent == parent && n->name == name && n->type == type)
			break;
	}
	return &t->slots[i];
}

static int tree_grow(struct tree *t)
{
	uint32_t capacity = t->capacity ? t->capacity * 2 : 256;
	struct node *nodes = realloc(t->nodes, capacity * sizeof(*nodes));
	uint32_t *slots = calloc((size_t)capacity * 2, sizeof(*slots));

	if (nodes)
		t->nodes = nodes;
	if (!nodes || !slots) {
		free(slots);
		t->out_of_memory = true;
		return -ENOMEM;
	}
	free(t->slots);
	t->slots = slots;
	t->slot_count = capacity * 2;
	t->capacity = capacity;
	if (!t->count)
		t->nodes[t->count++] = (struct node){ .type = JFR_FRAME_NATIVE };
	for (uint32_t i = 1; i < t->count; i++)
		*tree_find_slot(t, nodes[i].parent, nodes[i].name, nodes[i].type) = i;
	return 0;
}

int tree_open(struct tree *tree)
{
	return !tree->count && tree_grow(tree) ? -ENOMEM : 0;
}

static uint32_t tree_add_child(struct tree *t, uint32_t parent, const struct frame *frame)
{
	uint32_t type = common_type(frame->type), *slot;

	if (t->count == t->capacity && tree_grow(t))
		return parent;
	slot = tree_find_slot(t, parent, frame->name, type);
	if (!*slot) {
		*slot = t->count++;
		t->nodes[*slot] = (struct node){ .name = frame->name,
						 .module = frame->module,
						 .type = type,
						 .category = frame->category,
						 .parent = parent,
						 .next = t->nodes[parent].child };
		t->nodes[parent].child = *slot;
	}
	return *slot;
}

static void node_add_weight(struct node *n, uint32_t type, double weight, bool base)
{
	if (base) {
		n->base_total += weight;
		return;
	}
	n->total += weight;
	if (type == JFR_FRAME_INTERPRETED)
		n->interpreted += weight;
	else if (type == JFR_FRAME_INLINED)
		n->inlined += weight;
	else if (type == JFR_FRAME_C1)
		n->c1 += weight;
}

/* Returns FRAME of FROM with its names converted to IDs in INTO. */
static struct frame frame_translate_names(struct profile *into, const struct profile *from,
					  const struct frame *frame)
{
	struct frame out = *frame;

	if (into == from)
		return out;
	out.name = intern_string(&into->names, intern_text(&from->names, frame->name));
	if (frame->module)
		out.module = intern_string(&into->names, intern_text(&from->names, frame->module));
	return out;
}

static uint32_t tree_add_thread_stack(struct tree *t, struct profile *into,
				      const struct profile *from, const struct sample *s,
				      double weight, bool threads)
{
	const uint32_t *frames = intern_key(&from->stacks, s->stack);
	uint32_t depth = intern_length(&from->stacks, s->stack) / sizeof(*frames), at = 0;
	bool base = into != from;
	struct frame frame;
	char name[256];

	node_add_weight(&t->nodes[0], JFR_FRAME_NATIVE, weight, base);
	if (threads) {
		profile_thread_name(from, s->thread, name, sizeof(name));
		frame = (struct frame){ .name = intern_string(&into->names, name),
					.type = JFR_FRAME_NATIVE };
		at = tree_add_child(t, at, &frame);
		node_add_weight(&t->nodes[at], frame.type, weight, base);
	}
	for (uint32_t i = depth; i-- > 0;) {
		frame = frame_translate_names(into, from, profile_frame(from, frames[i]));
		at = tree_add_child(t, at, &frame);
		node_add_weight(&t->nodes[at], frame.type, weight, base);
	}
	if (base)
		t->nodes[at].base_self += weight;
	else
		t->nodes[at].self += weight;
	if (depth + threads > t->depth)
		t->depth = depth + threads;
	return at;
}

uint32_t tree_add_stack(struct tree *t, struct profile *into, const struct profile *from,
			const struct sample *s, double weight)
{
	return tree_add_thread_stack(t, into, from, s, weight, false);
}

int tree_add(struct tree *t, struct profile *profile, enum metric metric, bool by_total,
	     bool threads)
{
	if (tree_open(t))
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->count; i++) {
		const struct sample *s = &profile->samples[i];

		if (s->metric == metric && s->stack)
			tree_add_thread_stack(t, profile, profile, s,
					      by_total ? s->total : s->count, threads);
	}
	return t->out_of_memory ? -ENOMEM : 0;
}

/* Make lists of children from the parents of all nodes that were not merged. */
static void tree_link_children(struct tree *t, const uint32_t *merged, uint32_t count)
{
	for (uint32_t i = 0; i < t->count; i++)
		t->nodes[i].child = t->nodes[i].next = 0;
	for (uint32_t i = 1; i < t->count; i++) {
		struct node *n = &t->nodes[i];

		if (i < count && merged[i] != i)
			continue;
		n->next = t->nodes[n->parent].child;
		t->nodes[n->parent].child = i;
	}
}

int tree_merge_small(struct tree *t, uint32_t name, double least, uint32_t *merged)
{
	const struct frame small = { .name = name,
				     .type = JFR_FRAME_NATIVE,
				     .category = FRAME_LIBRARY };
	uint32_t count = t->count;

	for (uint32_t i = 0; i < count; i++) {
		struct node n = t->nodes[i];

		merged[i] = i;
		if (i && merged[n.parent] != n.parent) {
			merged[i] = merged[n.parent];
			continue;
		}
		if (!i || n.total >= least || n.base_total >= least)
			continue;
		merged[i] = tree_add_child(t, n.parent, &small);
		if (t->out_of_memory)
			return -ENOMEM;
		t->nodes[merged[i]].total += n.total;
		t->nodes[merged[i]].base_total += n.base_total;
		t->nodes[merged[i]].self += n.total;
		t->nodes[merged[i]].base_self += n.base_total;
	}
	tree_link_children(t, merged, count);
	return 0;
}

enum jfr_frame_type node_type(const struct node *n)
{
	if (n->total > 0 && n->inlined * 3 >= n->total)
		return JFR_FRAME_INLINED;
	if (n->total > 0 && n->c1 * 2 >= n->total)
		return JFR_FRAME_C1;
	if (n->total > 0 && n->interpreted * 2 >= n->total)
		return JFR_FRAME_INTERPRETED;
	return (enum jfr_frame_type)n->type;
}

struct sortable {
	const char *name;
	uint32_t node, type;
};

static int compare_node_names(const void *a, const void *b)
{
	const struct sortable *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->type > y->type) - (x->type < y->type);
}

void tree_sort(struct tree *t, const struct profile *profile)
{
	struct sortable *list = calloc((size_t)t->count + 1, sizeof(*list));

	for (uint32_t n = 0; list && n < t->count; n++) {
		uint32_t count = 0, i;

		for (i = t->nodes[n].child; i; i = t->nodes[i].next)
			list[count++] =
				(struct sortable){ intern_text(&profile->names, t->nodes[i].name),
						   i, t->nodes[i].type };
		qsort(list, count, sizeof(*list), compare_node_names);
		t->nodes[n].child = count ? list[0].node : 0;
		for (i = 0; i < count; i++)
			t->nodes[list[i].node].next = i + 1 < count ? list[i + 1].node : 0;
	}
	free(list);
}

void tree_free(struct tree *t)
{
	free(t->nodes);
	free(t->slots);
	*t = (struct tree){ 0 };
}
