/* A profile as data of a page. */
#include "profile/page/page_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/basics/array.h"
#include "profile/basics/text.h"

#define LABELS_MAX 65536

/* Samples of equal stack, thread, labels and time are added up. */
struct page_sample {
	uint32_t node; /* in the tree; later its number in the page */
	uint32_t thread, labels;
	int64_t time_ms; /* later the row of time */
	double value;
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Labels whose values differ for each request. */
static bool is_request_label(const char *line)
{
	return !strncmp(line, "trace_id=", 9) || !strncmp(line, "span_id=", 8);
}

static void labels_append(struct buf *out, const char *lines)
{
	while (*lines) {
		size_t length = strcspn(lines, "\n");

		if (length && !is_request_label(lines)) {
			buf_append(out, lines, length);
			buf_append(out, "\n", 1);
		}
		lines += length;
		lines += *lines == '\n';
	}
}

/* State and cause of a wait, and whether the cause is a guess. */
static void labels_append_wait(struct buf *out, const struct wait *wait)
{
	if (wait->state)
		buf_printf(out, "state=%s\n", jfr_wait_states[wait->state]);
	if (wait->cause)
		buf_printf(out, "cause=%s\n%s", jfr_wait_causes[wait->cause],
			   wait->is_derived ? "cause-from=stack\n" : "");
}

/* Cache of label IDs: by thread, context, state and cause of a profile, and whether that is a guess. */
struct label_cache {
	struct intern keys;
	uint32_t *labels; /* by key */
	uint32_t capacity;
	struct buf text;
};

static uint32_t label_cache_get(struct label_cache *cache, struct page_stacks *stacks,
				const struct profile *from, const struct sample *s)
{
	const struct thread_key *thread = intern_key(&from->threads, s->thread);
	const struct wait *wait = profile_wait(from, s->wait);
	uint32_t key[5] = { thread->labels, s->context, wait->state, wait->cause,
			    wait->is_derived };
	uint32_t known = cache->keys.count, id = intern(&cache->keys, key, sizeof(key));

	if (array_reserve(&cache->labels, &cache->capacity, id, sizeof(*cache->labels))) {
		stacks->out_of_memory = true;
		return 0;
	}
	if (!id || id <= known)
		return id ? cache->labels[id] : 0;
	buf_reset(&cache->text);
	labels_append(&cache->text, intern_text(&from->names, thread->labels));
	labels_append(&cache->text, intern_text(&from->names, s->context));
	labels_append_wait(&cache->text, wait);
	cache->labels[id] = intern(&stacks->labels, cache->text.data, cache->text.length);
	return cache->labels[id];
}

static struct page_sample *page_stacks_new_sample(struct page_stacks *stacks, bool is_base)
{
	if (array_reserve(&stacks->samples[is_base], &stacks->capacities[is_base],
			  stacks->counts[is_base], sizeof(**stacks->samples))) {
		stacks->out_of_memory = true;
		return NULL;
	}
	return &stacks->samples[is_base][stacks->counts[is_base]++];
}

/* Returns the page's ID of THREAD; NUMBERS caches it by the thread's ID in FROM. */
static uint32_t page_stacks_thread(struct page_stacks *stacks, const struct profile *from,
				   uint32_t thread, uint32_t *numbers)
{
	char name[256];

	if (!numbers[thread]) {
		profile_thread_name(from, thread, name, sizeof(name));
		numbers[thread] = intern_string(&stacks->threads, name);
	}
	return numbers[thread];
}

int page_stacks_add(struct page_stacks *stacks, struct profile *profile, const struct profile *from,
		    enum metric metric, bool by_total, bool is_base)
{
	struct label_cache cache = { .text = BUF_INIT(LABELS_MAX) };
	uint32_t *threads = calloc((size_t)from->threads.count + 1, sizeof(*threads));

	stacks->out_of_memory |= !threads || tree_open(&stacks->tree);
	for (uint32_t i = 0; i < from->count && !stacks->out_of_memory; i++) {
		const struct sample *s = &from->samples[i];
		double value = by_total ? s->total : s->count;
		struct page_sample *out;

		if (s->metric != metric || !s->stack)
			continue;
		out = page_stacks_new_sample(stacks, is_base);
		if (!out)
			break;
		*out = (struct page_sample){
			.node = tree_add_stack(&stacks->tree, profile, from, s, value),
			.thread = page_stacks_thread(stacks, from, s->thread, threads),
			.labels = label_cache_get(&cache, stacks, from, s),
			.time_ms = s->time_ms,
			.value = value,
		};
	}
	intern_free(&cache.keys);
	free(cache.labels);
	buf_free(&cache.text);
	free(threads);
	return stacks->out_of_memory || stacks->tree.out_of_memory ? -ENOMEM : 0;
}

/* Merge the smallest frames, until at most PAGE_NODES_MAX frames are left. */
static int page_stacks_merge_small(struct page_stacks *stacks, struct profile *profile,
				   double min_share)
{
	struct tree *tree = &stacks->tree;
	uint32_t kept = tree->count, *merged;
	int err;

	stacks->least = min_share * larger(tree->nodes[0].total, tree->nodes[0].base_total);
	while (kept > PAGE_NODES_MAX) {
		stacks->least = larger(stacks->least * 1.5, 1.5);
		kept = 0;
		for (uint32_t i = 1; i < tree->count; i++)
			kept += larger(tree->nodes[i].total, tree->nodes[i].base_total) >=
				stacks->least;
	}
	if (!(stacks->least > 0))
		return 0;
	merged = calloc(tree->count, sizeof(*merged));
	if (!merged)
		return -ENOMEM;
	err = tree_merge_small(tree, intern_string(&profile->names, "[small frames]"),
			       stacks->least, merged);
	for (int set = 0; set < 2 && !err; set++)
		for (uint32_t i = 0; i < stacks->counts[set]; i++)
			stacks->samples[set][i].node = merged[stacks->samples[set][i].node];
	free(merged);
	return err;
}

/* Returns the node after AT in preorder; 0 at the end. *UP is the number of levels back to the
 * common parent. */
static uint32_t tree_next_node(const struct tree *tree, uint32_t at, uint32_t *up)
{
	*up = 0;
	if (tree->nodes[at].child)
		return tree->nodes[at].child;
	for (*up = 1; at && !tree->nodes[at].next; ++*up)
		at = tree->nodes[at].parent;
	return at ? tree->nodes[at].next : 0;
}

/* Number the nodes in preorder, as the page does. */
static int page_stacks_number(struct page_stacks *stacks)
{
	uint32_t number = 1, up;

	stacks->numbers = calloc(stacks->tree.count, sizeof(*stacks->numbers));
	if (!stacks->numbers)
		return -ENOMEM;
	for (uint32_t at = tree_next_node(&stacks->tree, 0, &up); at;
	     at = tree_next_node(&stacks->tree, at, &up))
		stacks->numbers[at] = number++;
	for (int set = 0; set < 2; set++)
		for (uint32_t i = 0; i < stacks->counts[set]; i++)
			stacks->samples[set][i].node =
				stacks->numbers[stacks->samples[set][i].node];
	return 0;
}

static int compare_samples(const void *a, const void *b)
{
	const struct page_sample *x = a, *y = b;

	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->labels > y->labels) - (x->labels < y->labels);
}

/* Sort the samples and add up equal ones. */
static void page_stacks_add_up(struct page_stacks *stacks, int set)
{
	struct page_sample *list = stacks->samples[set];
	uint32_t kept = 0;

	if (!stacks->counts[set])
		return;
	qsort(list, stacks->counts[set], sizeof(*list), compare_samples);
	for (uint32_t i = 1; i < stacks->counts[set]; i++)
		if (compare_samples(&list[kept], &list[i]))
			list[++kept] = list[i];
		else
			list[kept].value += list[i].value;
	stacks->counts[set] = kept + 1;
}

/* Replace times by rows since the first sample. */
static void page_stacks_set_rows(struct page_stacks *stacks, uint32_t row_ms)
{
	struct page_sample *list = stacks->samples[0];
	uint64_t span;

	stacks->row_ms = row_ms;
	if (!row_ms || !stacks->counts[0])
		return;
	page_stacks_add_up(stacks, 0);
	stacks->start_ms = list[0].time_ms;
	span = (uint64_t)list[stacks->counts[0] - 1].time_ms - (uint64_t)stacks->start_ms;
	while (span / stacks->row_ms >= PAGE_ROWS_MAX && stacks->row_ms < UINT32_MAX / 2)
		stacks->row_ms *= 2;
	for (uint32_t i = 0; i < stacks->counts[0]; i++) {
		uint64_t row =
			((uint64_t)list[i].time_ms - (uint64_t)stacks->start_ms) / stacks->row_ms;

		list[i].time_ms = (int64_t)(row < PAGE_ROWS_MAX ? row : PAGE_ROWS_MAX - 1);
	}
	page_stacks_add_up(stacks, 0);
	while (stacks->counts[0] > PAGE_SAMPLES_MAX && list[stacks->counts[0] - 1].time_ms &&
	       stacks->row_ms < UINT32_MAX / 2) {
		stacks->row_ms *= 2;
		for (uint32_t i = 0; i < stacks->counts[0]; i++)
			list[i].time_ms /= 2;
		page_stacks_add_up(stacks, 0);
	}
	stacks->rows = (uint32_t)list[stacks->counts[0] - 1].time_ms + 1;
}

int page_stacks_finish(struct page_stacks *stacks, struct profile *profile, double min_share,
		       uint32_t row_ms)
{
	int err = tree_open(&stacks->tree);

	if (!err)
		err = page_stacks_merge_small(stacks, profile, min_share);
	if (err)
		return err;
	tree_sort(&stacks->tree, profile);
	err = page_stacks_number(stacks);
	if (err)
		return err;
	page_stacks_set_rows(stacks, row_ms);
	for (int set = row_ms ? 1 : 0; set < 2; set++) {
		for (uint32_t i = 0; i < stacks->counts[set]; i++)
			stacks->samples[set][i].time_ms = 0;
		page_stacks_add_up(stacks, set);
	}
	return 0;
}

/* Frame as the page knows it. Interned by its bytes. */
struct page_frame {
	uint32_t name, module; /* IDs in strings */
	uint32_t type, category;
};

struct page_tables {
	struct intern strings, frames;
	uint32_t *frame_of; /* frame by node */
};

static int page_tables_fill(struct page_tables *tables, const struct page_stacks *stacks,
			    const struct profile *profile)
{
	tables->frame_of = calloc(stacks->tree.count, sizeof(*tables->frame_of));
	if (!tables->frame_of)
		return -ENOMEM;
	for (uint32_t i = 1; i < stacks->tree.count; i++) {
		const struct node *n = &stacks->tree.nodes[i];
		struct page_frame frame = { .type = node_type(n), .category = n->category };

		if (!stacks->numbers[i]) /* merged */
			continue;
		frame.name = intern_string(&tables->strings, intern_text(&profile->names, n->name));
		if (n->module)
			frame.module = intern_string(&tables->strings,
						     intern_text(&profile->names, n->module));
		tables->frame_of[i] = intern(&tables->frames, &frame, sizeof(frame));
		if (!frame.name || !tables->frame_of[i])
			return -ENOMEM;
	}
	return 0;
}

static const char *intern_text_at(void *arg, uint32_t i)
{
	return intern_text(arg, i + 1);
}

static void frames_write(struct page_data *data, const struct intern *frames)
{
	page_data_number(data, frames->count);
	for (size_t column = 0; column < sizeof(struct page_frame) / sizeof(uint32_t); column++)
		for (uint32_t i = 1; i <= frames->count; i++)
			page_data_number(data, ((const uint32_t *)intern_key(frames, i))[column]);
}

/* Columns of nodes in preorder: levels back to the parent, frame. */
static void nodes_write(struct page_data *data, const struct page_stacks *stacks,
			const struct page_tables *tables)
{
	uint32_t count = 0, up;

	for (uint32_t i = 1; i < stacks->tree.count; i++)
		count += stacks->numbers[i] != 0;
	page_data_number(data, count);
	for (uint32_t at = tree_next_node(&stacks->tree, 0, &up); at;
	     at = tree_next_node(&stacks->tree, at, &up))
		page_data_number(data, up);
	for (uint32_t at = tree_next_node(&stacks->tree, 0, &up); at;
	     at = tree_next_node(&stacks->tree, at, &up))
		page_data_number(data, tables->frame_of[at]);
}

/* Columns of samples: rows of time since the previous sample, node relative to the previous one,
 * thread, labels, value. */
static void samples_write(struct page_data *data, const struct page_sample *list, uint32_t count,
			  bool has_times)
{
	page_data_number(data, count);
	for (uint32_t i = 0; i < count && has_times; i++)
		page_data_number(data, (uint64_t)(list[i].time_ms - (i ? list[i - 1].time_ms : 0)));
	for (uint32_t i = 0; i < count; i++)
		page_data_signed(data, (int64_t)list[i].node - (i ? (int64_t)list[i - 1].node : 0));
	for (uint32_t i = 0; i < count; i++)
		page_data_number(data, list[i].thread);
	for (uint32_t i = 0; i < count; i++)
		page_data_number(data, list[i].labels);
	for (uint32_t i = 0; i < count; i++)
		page_data_value(data, list[i].value);
}

int page_stacks_write(struct page_data *data, const struct page_stacks *stacks,
		      const struct profile *profile)
{
	struct page_tables tables = { 0 };
	struct intern threads = stacks->threads, labels = stacks->labels;
	int err = page_tables_fill(&tables, stacks, profile);

	if (!err) {
		page_data_texts(data, tables.strings.count, intern_text_at, &tables.strings);
		frames_write(data, &tables.frames);
		nodes_write(data, stacks, &tables);
		page_data_texts(data, threads.count, intern_text_at, &threads);
		page_data_texts(data, labels.count, intern_text_at, &labels);
		samples_write(data, stacks->samples[0], stacks->counts[0], stacks->row_ms);
		samples_write(data, stacks->samples[1], stacks->counts[1], false);
	}
	intern_free(&tables.strings);
	intern_free(&tables.frames);
	free(tables.frame_of);
	return err;
}

void page_stacks_notice(const struct page_stacks *stacks, uint32_t wanted_row_ms, char *text,
			size_t size)
{
	double whole = larger(stacks->tree.nodes[0].total, stacks->tree.nodes[0].base_total);
	int length = 0;

	*text = '\0';
	if (stacks->least > 0)
		length = snprintf(text, size, "Frames below %.2g%% are merged into [small frames].",
				  100 * stacks->least / whole);
	if (stacks->row_ms != wanted_row_ms && length >= 0 && (size_t)length < size)
		snprintf(text + length, size - (size_t)length,
			 "%sRows are %u ms instead of %u ms: the page has limits.",
			 length ? " " : "", stacks->row_ms, wanted_row_ms);
}

void page_stacks_free(struct page_stacks *stacks)
{
	tree_free(&stacks->tree);
	intern_free(&stacks->threads);
	intern_free(&stacks->labels);
	for (int set = 0; set < 2; set++)
		free(stacks->samples[set]);
	free(stacks->numbers);
	*stacks = (struct page_stacks){ 0 };
}
