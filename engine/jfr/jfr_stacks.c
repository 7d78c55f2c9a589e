/* Table of a chunk's stacks and of the program counters in them, each stored once. A stack is
 * stored as the numbers of its pcs, four bytes per frame. */
#include "engine/jfr/jfr_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory/account.h"
#include "engine/jfr/jfr_limits.h"
#include "engine/jfr/jfr_namer.h"

/* Memory that is kept for the next chunk. */
#define KEPT_BYTES (512u << 10)

/* Includes the memory that symbolizing a pc needs at the end of the chunk. */
#define PC_COST                                                                 \
	(sizeof(uintptr_t) + sizeof(bool) + 2 * sizeof(struct jfr_index_slot) + \
	 sizeof(struct jfr_frame_name) + sizeof(uint32_t))
#define STACK_COST (sizeof(struct jfr_stack_head) + 2 * sizeof(struct jfr_index_slot))

#define DEPTH_MAX (UINT32_MAX / 8)

static uint32_t hash_stack(const uintptr_t *pcs, size_t count, bool truncated)
{
	uint64_t hash = truncated;
	size_t i;

	for (i = 0; i < count; i++)
		hash = jfr_hash_step(hash, pcs[i]);
	return jfr_hash_end(hash);
}

static uint32_t hash_pc(uintptr_t pc, bool is_return)
{
	return jfr_hash_end(jfr_hash_step(is_return, pc));
}

static uint32_t find_pc(const struct jfr_stacks *s, uint32_t hash, uintptr_t pc, bool is_return)
{
	uint32_t cursor, n = jfr_index_first(&s->pc_index, hash, &cursor);

	while (n != JFR_INDEX_NONE && (s->pcs[n] != pc || s->is_return[n] != is_return))
		n = jfr_index_next(&s->pc_index, hash, &cursor);
	return n;
}

static int intern_pc(struct jfr_stacks *s, uintptr_t pc, bool is_return, uint32_t *number)
{
	uint32_t hash = hash_pc(pc, is_return), n = find_pc(s, hash, pc, is_return);
	uint32_t max = (uint32_t)(s->max / PC_COST);
	int err;

	*number = n;
	if (n != JFR_INDEX_NONE)
		return 0;
	n = s->pc_count;
	if (n >= max || s->max - s->used < PC_COST)
		return -ENOSPC;
	err = jfr_grow(&s->pcs, &s->pc_capacity, n + 1, max, sizeof(*s->pcs));
	if (!err)
		err = jfr_grow(&s->is_return, &s->flag_capacity, n + 1, max, sizeof(*s->is_return));
	if (!err)
		err = jfr_index_add(&s->pc_index, hash, n);
	if (err)
		return err;
	s->pcs[n] = pc;
	s->is_return[n] = is_return;
	s->pc_count++;
	s->used += PC_COST;
	*number = n;
	return 0;
}

static const struct jfr_stack_head *head_at(const struct jfr_stacks *s, uint32_t word)
{
	return (const struct jfr_stack_head *)(s->words + word);
}

static bool same_stack(const struct jfr_stacks *s, uint32_t word, const uintptr_t *pcs,
		       size_t count, bool truncated)
{
	const uint32_t *numbers = s->words + word + JFR_STACK_HEAD_WORDS;
	size_t i;

	if (head_at(s, word)->depth != count * 2 + truncated)
		return false;
	for (i = 0; i < count; i++)
		if (s->pcs[numbers[i]] != pcs[i] || s->is_return[numbers[i]] != !!i)
			return false;
	return true;
}

static uint32_t find_stack(const struct jfr_stacks *s, uint32_t hash, const uintptr_t *pcs,
			   size_t count, bool truncated)
{
	uint32_t cursor, word = jfr_index_first(&s->stack_index, hash, &cursor);

	while (word != JFR_INDEX_NONE && !same_stack(s, word, pcs, count, truncated))
		word = jfr_index_next(&s->stack_index, hash, &cursor);
	return word;
}

/* If the stack then does not fit, its new pcs remain in the table, which is harmless. */
static int add_stack(struct jfr_stacks *s, uint32_t hash, const uintptr_t *pcs, size_t count,
		     bool truncated)
{
	const uint32_t words = (uint32_t)(JFR_STACK_HEAD_WORDS + count);
	const size_t cost = STACK_COST + count * sizeof(uint32_t);
	const uint32_t max = (uint32_t)(s->max / sizeof(uint32_t));
	const uint32_t start = s->word_count;
	struct jfr_stack_head *head;
	uint32_t i;
	int err;

	if (s->max - s->used < cost || start > max - words ||
	    !memory_is_granted(MEMORY_STACK, cost + count * PC_COST))
		return -ENOSPC;
	err = jfr_grow(&s->words, &s->word_capacity, start + words, max, sizeof(*s->words));
	for (i = 0; !err && i < count; i++)
		err = intern_pc(s, pcs[i], i > 0, &s->words[start + JFR_STACK_HEAD_WORDS + i]);
	if (!err && s->max - s->used < cost)
		err = -ENOSPC;
	if (!err)
		err = jfr_index_add(&s->stack_index, hash, start);
	if (err)
		return err;
	head = (struct jfr_stack_head *)(s->words + start);
	head->number = s->count++;
	head->depth = (uint32_t)count * 2 + truncated;
	s->word_count += words;
	s->used += cost;
	return 0;
}

static uint32_t stacks_special(struct jfr_stacks *s, enum jfr_special_stack which)
{
	if (!s->special[which])
		s->special[which] = ++s->count;
	return s->special[which] - 1;
}

uint32_t jfr_stacks_intern(struct jfr_stacks *s, const uintptr_t *pcs, size_t count, bool truncated)
{
	uint32_t hash, word;

	if (!count)
		return stacks_special(s, JFR_STACK_UNKNOWN);
	hash = hash_stack(pcs, count, truncated);
	word = find_stack(s, hash, pcs, count, truncated);
	if (word != JFR_INDEX_NONE)
		return head_at(s, word)->number;
	if (count < DEPTH_MAX && !add_stack(s, hash, pcs, count, truncated))
		return s->count - 1;
	s->full++;
	return stacks_special(s, JFR_STACK_TABLE_FULL);
}

static size_t capacity_bytes(const struct jfr_stacks *s)
{
	return s->pc_capacity * sizeof(*s->pcs) + s->flag_capacity * sizeof(*s->is_return) +
	       s->word_capacity * sizeof(*s->words) +
	       (s->pc_index.size + s->stack_index.size) * sizeof(struct jfr_index_slot);
}

void jfr_stacks_reset(struct jfr_stacks *s)
{
	if (capacity_bytes(s) > KEPT_BYTES)
		jfr_stacks_free(s);
	jfr_index_reset(&s->pc_index);
	jfr_index_reset(&s->stack_index);
	s->pc_count = s->word_count = s->count = 0;
	memset(s->special, 0, sizeof(s->special));
	s->used = 0;
	s->full = 0;
}

void jfr_stacks_free(struct jfr_stacks *s)
{
	free(s->pcs);
	free(s->is_return);
	free(s->words);
	jfr_index_free(&s->pc_index);
	jfr_index_free(&s->stack_index);
	*s = (struct jfr_stacks){ .max = s->max };
}
