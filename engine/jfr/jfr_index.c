/* Hash index of an array. Open addressing, at most three quarters full. */
#include "engine/jfr/jfr_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MIN 64

uint32_t jfr_index_next(const struct jfr_index *index, uint32_t hash, uint32_t *cursor)
{
	const struct jfr_index_slot *slot;

	if (!index->size)
		return JFR_INDEX_NONE;
	for (;;) {
		slot = &index->slots[(*cursor)++ & (index->size - 1)];
		if (!slot->row)
			return JFR_INDEX_NONE;
		if (slot->hash == hash)
			return slot->row - 1;
	}
}

uint32_t jfr_index_first(const struct jfr_index *index, uint32_t hash, uint32_t *cursor)
{
	*cursor = hash;
	return jfr_index_next(index, hash, cursor);
}

static void index_place(struct jfr_index_slot *slots, uint32_t size, struct jfr_index_slot slot)
{
	uint32_t i = slot.hash;

	while (slots[i & (size - 1)].row)
		i++;
	slots[i & (size - 1)] = slot;
}

static int index_resize(struct jfr_index *index, uint32_t size)
{
	struct jfr_index_slot *slots = calloc(size, sizeof(*slots));
	uint32_t i;

	if (!slots)
		return -ENOMEM;
	for (i = 0; i < index->size; i++)
		if (index->slots[i].row)
			index_place(slots, size, index->slots[i]);
	free(index->slots);
	index->slots = slots;
	index->size = size;
	return 0;
}

int jfr_index_add(struct jfr_index *index, uint32_t hash, uint32_t row)
{
	int err = 0;

	if (index->used >= index->size / 4 * 3)
		err = index_resize(index, index->size ? index->size * 2 : SIZE_MIN);
	if (err)
		return err;
	index_place(index->slots, index->size, (struct jfr_index_slot){ hash, row + 1 });
	index->used++;
	return 0;
}

void jfr_index_reset(struct jfr_index *index)
{
	if (index->used)
		memset(index->slots, 0, index->size * sizeof(*index->slots));
	index->used = 0;
}

void jfr_index_free(struct jfr_index *index)
{
	free(index->slots);
	*index = (struct jfr_index){ 0 };
}

int jfr_grow(void *array, uint32_t *capacity, uint32_t need, uint32_t max, size_t size)
{
	uint32_t more = *capacity ? *capacity : 32;
	void *old, *new;

	if (need <= *capacity)
		return 0;
	while (more < need)
		more = more > max / 2 ? max : more * 2;
	memcpy(&old, array, sizeof(old));
	new = realloc(old, more * size);
	if (!new)
		return -ENOMEM;
	memcpy(array, &new, sizeof(new));
	*capacity = more;
	return 0;
}
