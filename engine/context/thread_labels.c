/* Labels that the program sets for its threads.
 *
 * A thread that sets a label acquires a block of a table, which is mapped at the first label. A
 * block has two sets: samples read one, and it is not written to. The thread writes the other one,
 * and then makes it current by one store. */
#include "engine/context/thread_labels.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "core/system.h"

#define KEY_MAX     128
#define THREADS_MAX 4096

struct set {
	uint16_t size;
	char bytes[THREAD_LABELS_MAX];
};

struct block {
	_Atomic pid_t tid; /* 0: free */
	_Atomic uint8_t now;
	struct set sets[2];
};

static struct block *_Atomic blocks;
static _Atomic uint32_t used; /* number of blocks that were ever in use, from the first on */
static __thread struct block *own __attribute__((tls_model("initial-exec")));

static struct block *labels_table(void)
{
	struct block *there = atomic_load(&blocks), *made;

	if (there)
		return there;
	made = system_map(THREADS_MAX * sizeof(*made));
	if (!made)
		return NULL;
	if (atomic_compare_exchange_strong(&blocks, &there, made))
		return made;
	system_unmap(made, THREADS_MAX * sizeof(*made));
	return there;
}

bool thread_labels_exist(void)
{
	return atomic_load(&blocks);
}

/* Extend the used part of the table to COUNT blocks. */
static void labels_extend_used(uint32_t count)
{
	uint32_t before = atomic_load(&used);

	while (before < count && !atomic_compare_exchange_weak(&used, &before, count))
		;
}

static struct block *labels_acquire_block(struct block *all, pid_t tid, bool stale)
{
	for (uint32_t i = 0; i < THREADS_MAX; i++) {
		pid_t was = atomic_load_explicit(&all[i].tid, memory_order_relaxed);

		if (was && (!stale || !system_thread_is_gone(was)))
			continue;
		labels_extend_used(
			i +
			1); /* before the block is acquired, or a fork in between would miss it */
		if (!atomic_compare_exchange_strong(&all[i].tid, &was, tid))
			continue;
		all[i].sets[0].size = all[i].sets[1].size = 0;
		return &all[i];
	}
	return NULL;
}

static int own_block(struct block **out)
{
	struct block *all = own ? NULL : labels_table();

	if (!own && !all)
		return -ENOMEM;
	if (!own)
		own = labels_acquire_block(all, system_thread(), false);
	if (!own)
		own = labels_acquire_block(all, system_thread(), true);
	*out = own;
	return own ? 0 : -ENOSPC;
}

static bool is_key(const char *key)
{
	size_t length = key ? strlen(key) : 0;

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)key[i] < ' ' || key[i] == '=' || key[i] == 0x7f)
			return false;
	return length && length <= KEY_MAX;
}

/* Append the two strings to SET; returns false when there is no room. */
static bool label_append(struct set *set, const char *key, const char *value)
{
	size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;

	if (key_size + value_size > sizeof(set->bytes) - set->size)
		return false;
	memcpy(set->bytes + set->size, key, key_size);
	memcpy(set->bytes + set->size + key_size, value, value_size);
	set->size = (uint16_t)(set->size + key_size + value_size);
	return true;
}

int thread_labels_set(const char *key, const char *value)
{
	const struct set *now;
	struct block *block;
	struct set *next;
	int err;

	if (!is_key(key))
		return -EINVAL;
	if ((!value || !*value) && !own)
		return 0;
	err = own_block(&block);
	if (err)
		return err;
	now = &block->sets[block->now];
	next = &block->sets[!block->now];
	next->size = 0;
	for (size_t at = 0; at < now->size;) {
		const char *name = now->bytes + at, *text = name + strlen(name) + 1;

		if (strcmp(name, key))
			label_append(next, name, text);
		at = (size_t)(text + strlen(text) + 1 - now->bytes);
	}
	if (value && *value && !label_append(next, key, value))
		return -ENOSPC;
	atomic_store_explicit(&block->now, !block->now, memory_order_release);
	return 0;
}

const char *thread_labels(uint16_t *size)
{
	const struct block *block = own;
	const struct set *set;

	*size = 0;
	if (!block)
		return NULL;
	set = &block->sets[atomic_load_explicit(&block->now, memory_order_relaxed)];
	*size = set->size;
	return set->bytes;
}

void thread_labels_end(void)
{
	struct block *block = own;

	if (!block)
		return;
	own = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store(&block->tid, 0);
}

void thread_labels_after_fork(void)
{
	struct block *all = atomic_load(&blocks);
	uint32_t count = all ? atomic_load(&used) : 0;

	/* (The whole table is a thousand pages, and each access to a new page is a page fault.) */
	for (uint32_t i = 0; i < count; i++)
		if (&all[i] == own)
			atomic_store(&all[i].tid, system_thread());
		else if (atomic_load_explicit(&all[i].tid, memory_order_relaxed))
			atomic_store(&all[i].tid, 0);
}
