/* Which constants of a chunk are not in those before it. */
#include "core/agent/new_constants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/jfr/jfr_encode.h"
#include "profile/jfr/jfr_cursor.h"
#include "profile/jfr/jfr_meta.h"
#include "profile/jfr/jfr_value.h"

/* What is kept for each is eight bytes. */
#define KEYS_MAX (64u << 10)

/* A type's number stands above a constant's. */
#define TYPE_SHIFT 56

static size_t slot_of(const struct constant_keys *keys, uint64_t key)
{
	size_t slot = (size_t)(key * 0x9e3779b97f4a7c15u >> 20);

	for (;; slot++) {
		slot &= keys->capacity - 1;
		if (!keys->slots[slot] || keys->slots[slot] == key)
			return slot;
	}
}

static int grow(struct constant_keys *keys)
{
	struct constant_keys more = { .capacity = keys->capacity ? keys->capacity * 2 : 256 };

	if (keys->count >= KEYS_MAX)
		return -EFBIG;
	more.slots = calloc(more.capacity, sizeof(*more.slots));
	if (!more.slots)
		return -ENOMEM;
	for (size_t i = 0; i < keys->capacity; i++)
		if (keys->slots[i])
			more.slots[slot_of(&more, keys->slots[i])] = keys->slots[i];
	more.count = keys->count;
	free(keys->slots);
	*keys = more;
	return 0;
}

/* Returns 1 where it was not there yet; 0; or -errno. */
static int put(struct constant_keys *keys, uint64_t key)
{
	int err = keys->count * 2 >= keys->capacity ? grow(keys) : 0;
	uint64_t *slot;

	if (err)
		return err;
	slot = &keys->slots[slot_of(keys, key)];
	if (*slot)
		return 0;
	*slot = key;
	keys->count++;
	return 1;
}

static bool has(const struct constant_keys *keys, uint64_t key)
{
	return keys->capacity && keys->slots[slot_of(keys, key)];
}

/* 0 where it cannot be. */
static uint64_t table_intern_function(const struct jfr_type *type, uint64_t key)
{
	return type->id <= 0 || type->id >> (64 - TYPE_SHIFT) || key >> TYPE_SHIFT
		       ? 0
		       : (uint64_t)type->id << TYPE_SHIFT | key;
}

static bool has_new_numbers(const struct jfr_type *type)
{
	return !strcmp(type->name, "jdk.types.Symbol") || !strcmp(type->name, "jdk.types.Package");
}

/* What the constant of TYPE between AT and END refers to of those with new numbers is needed. */
static int note_names(struct new_constants *n, const struct jfr_type *type, const uint8_t *at,
		      const uint8_t *end)
{
	struct cursor c = { at, end, false };
	int err = 0;

	for (size_t i = 0; i < type->field_count && err >= 0; i++) {
		const struct jfr_field *field = &type->fields[i];
		bool name_equals = field->constant && !field->array && has_new_numbers(field->type);
		uint64_t key =
			name_equals ? table_intern_function(field->type, cursor_varint(&c)) : 0;

		if (name_equals)
			err = key ? put(&n->named, key) : -EBADMSG;
		else
			jfr_skip_field(&c, field);
	}
	return err < 0 ? err : c.bad ? -EBADMSG : 0;
}

/* Returns 1 where the constant is new, 0, or -errno. */
static int is_new(struct new_constants *n, const struct jfr_type *type, uint64_t number)
{
	uint64_t key = table_intern_function(type, number);

	if (!key)
		return -EBADMSG;
	return has_new_numbers(type) ? has(&n->named, key) : put(&n->known, key);
}

/* Those of TYPE, with their number in front. */
static int take_constants(struct new_constants *n, const struct jfr_type *type, struct cursor *c,
			  struct buf *out, uint64_t *taken)
{
	uint64_t count = cursor_varint(c);
	size_t counted_at = out->length;
	int err = buf_append(out, "\0\0\0", JFR_PADDED_LENGTH), added;

	*taken = 0;
	for (; count && !err && !c->bad; count--) {
		const uint8_t *from = c->at;
		uint64_t key = cursor_varint(c);
		const uint8_t *value = c->at;

		jfr_skip_value(c, type);
		if (c->bad)
			break;
		added = is_new(n, type, key);
		if (added < 0)
			err = added;
		else if (added)
			err = note_names(n, type, value, c->at);
		if (!err && added) {
			err = buf_append(out, from, (size_t)(c->at - from));
			++*taken;
		}
	}
	if (!err)
		jfr_put_padded(out->data + counted_at, *taken);
	return c->bad ? -EBADMSG : err;
}

static int take_pool(struct new_constants *n, struct cursor *c, struct buf *out, unsigned *pools)
{
	const uint8_t *from = c->at;
	const struct jfr_type *type = jfr_type_by_id(&n->types, cursor_varint(c));
	size_t length = out->length;
	uint64_t taken = 0;
	int err = type && !c->bad ? buf_append(out, from, (size_t)(c->at - from)) : -EBADMSG;

	if (!err)
		err = take_constants(n, type, c, out, &taken);
	/* Readers do not like an empty one. */
	if (!taken)
		out->length = length;
	*pools += taken > 0;
	return err;
}

int new_constants_take(struct new_constants *n, const uint8_t *at, const uint8_t *end,
		       struct buf *out, unsigned *pools)
{
	struct cursor c = { at, end, false };
	uint64_t count = cursor_varint(&c);
	int err = 0;

	if (n->named.count)
		memset(n->named.slots, 0, n->named.capacity * sizeof(*n->named.slots));
	n->named.count = 0;
	for (; count && !err && !c.bad; count--)
		err = take_pool(n, &c, out, pools);
	return err ? err : c.bad || c.at != end ? -EBADMSG : 0;
}

int new_constants_begin(struct new_constants *n, const uint8_t *metadata, uint64_t length)
{
	new_constants_end(n);
	n->metadata = malloc(length);
	if (!n->metadata)
		return -ENOMEM;
	memcpy(n->metadata, metadata, length);
	n->types.header.size = length;
	n->types.data = n->metadata;
	return jfr_meta_read(&n->types);
}

void new_constants_end(struct new_constants *n)
{
	if (n->metadata)
		jfr_meta_free(&n->types);
	free(n->metadata);
	free(n->known.slots);
	free(n->named.slots);
	memset(n, 0, sizeof(*n));
}
