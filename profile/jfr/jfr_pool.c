/* Index of a chunk's constants. Checkpoint events are linked from the last to the first; each has
 * pools of (key, value) for some types. The index stores the offset of each value. */
#include "profile/jfr/jfr_meta.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/jfr/jfr_value.h"

/* Make room for MORE keys at a load of at most two thirds. */
static int pool_reserve(struct jfr_pool *pool, size_t more)
{
	struct jfr_pool bigger = { .count = pool->count };
	size_t need = pool->count + more;

	if (need + need / 2 < pool->capacity)
		return 0;
	bigger.capacity = pool->capacity ? pool->capacity : 16;
	while (need + need / 2 >= bigger.capacity)
		bigger.capacity *= 2;
	bigger.table = calloc(bigger.capacity, sizeof(*bigger.table));
	if (!bigger.table)
		return -ENOMEM;
	for (size_t i = 0; i < pool->capacity; i++)
		if (pool->table[i].at)
			bigger.table[jfr_pool_slot(&bigger, pool->table[i].key)] = pool->table[i];
	free(pool->table);
	*pool = bigger;
	return 0;
}

/* Limit for all constants of a chunk; no program has that many stacks. */
#define CONSTANTS_MAX (1u << 22)

static int pool_insert(struct jfr_pool *pool, uint64_t key, uint32_t at)
{
	struct jfr_constant *constant;
	int err = pool_reserve(pool, 1);

	if (err)
		return err;
	constant = &pool->table[jfr_pool_slot(pool, key)];
	if (!constant->at)
		pool->count++;
	*constant = (struct jfr_constant){ .key = key, .at = at };
	return 0;
}

static int pool_read(struct jfr_chunk *chunk, struct cursor *c, struct jfr_type *type)
{
	uint64_t count = cursor_varint(c), key;
	int err = 0;

	if (count > cursor_left(c)) /* each constant has at least one byte */
		return -EBADMSG;
	if (count < 1u << 16) /* avoids growing in steps; bounded, as the count is not trusted */
		err = pool_reserve(&type->pool, count);
	for (; count && !err && !c->bad; count--) {
		if (chunk->constants++ == CONSTANTS_MAX)
			return jfr_set_error(chunk, c->at, "too many constants");
		key = cursor_varint(c);
		err = pool_insert(&type->pool, key, (uint32_t)(c->at - chunk->data));
		jfr_skip_value(c, type);
	}
	return c->bad ? -EBADMSG : err;
}

/* Read one checkpoint event. *DELTA is the offset of the previous one, relative to this one. */
static int checkpoint_read(struct jfr_chunk *chunk, struct cursor *c, int64_t *delta)
{
	uint64_t pools;
	int err = 0;

	for (int i = 0; i < 3; i++) /* type, start, duration */
		cursor_skip_varint(c);
	*delta = (int64_t)cursor_varint(c);
	cursor_byte(c); /* flags */
	for (pools = cursor_varint(c); pools && !err && !c->bad; pools--) {
		struct jfr_type *type = jfr_type_by_id(chunk, cursor_varint(c));

		err = type ? pool_read(chunk, c, type) : -EBADMSG;
	}
	return c->bad ? -EBADMSG : err;
}

int jfr_pools_read(struct jfr_chunk *chunk)
{
	const uint8_t *end = chunk->data + chunk->header.size, *at;
	uint64_t offset = chunk->header.constants, size, work = 0;
	int64_t delta;
	struct cursor c;
	int err;

	do {
		at = chunk->data + offset;
		c = (struct cursor){ at, end, false };
		size = cursor_varint(&c);
		work += size; /* checkpoints cannot overlap */
		if (size > (uint64_t)(end - at) || work > chunk->header.size)
			return jfr_set_error(chunk, at, "damaged constants");
		c.end = at + size;
		err = checkpoint_read(chunk, &c, &delta);
		if (err)
			return err == -EBADMSG ? jfr_set_error(chunk, at, "damaged constants")
					       : err;
		if (delta > 0 || -(uint64_t)delta > offset)
			return jfr_set_error(chunk, at, "damaged constants");
		offset += (uint64_t)delta;
	} while (delta);
	return 0;
}

void jfr_pools_free(struct jfr_chunk *chunk)
{
	for (size_t i = 0; i < chunk->type_count; i++)
		free(chunk->types[i].pool.table);
}
