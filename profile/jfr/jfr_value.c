/* Values in events and constants, accessed by field name. */
#include "profile/jfr/jfr_value.h"

#include <string.h>

#include "core/text/utf8.h"

/* Maximum nesting of values. A type that contains arrays of itself could nest deeper. */
#define DEPTH_MAX 32

static void skip_value(struct cursor *c, const struct jfr_type *type, int depth);

static void skip_string(struct cursor *c)
{
	uint64_t count;

	switch (cursor_byte(c)) {
	case 0: /* null */
	case 1: /* empty */
		break;
	case 2: /* a constant */
		cursor_skip_varint(c);
		break;
	case 3: /* UTF-8 */
	case 5: /* Latin-1 */
		cursor_skip(c, cursor_varint(c));
		break;
	case 4: /* UTF-16, each unit a compressed integer */
		for (count = cursor_varint(c); count && !c->bad; count--)
			cursor_skip_varint(c);
		break;
	default:
		cursor_fail(c);
	}
}

static void skip_element(struct cursor *c, const struct jfr_field *field, int depth)
{
	if (field->is_constant)
		cursor_skip_varint(c);
	else
		skip_value(c, field->type, depth);
}

static void skip_array(struct cursor *c, const struct jfr_field *field, int depth)
{
	const uint8_t *before;
	uint64_t count;

	for (count = cursor_varint(c); count && !c->bad; count--) {
		before = c->at;
		skip_element(c, field, depth);
		if (c->at == before) /* empty elements: their number is not bounded by the data */
			break;
	}
}

static void skip_value(struct cursor *c, const struct jfr_type *type, int depth)
{
	if (depth > DEPTH_MAX) {
		cursor_fail(c);
		return;
	}
	switch (type->shape) {
	case JFR_VARINT:
		cursor_skip_varint(c);
		break;
	case JFR_BYTE:
		cursor_skip(c, 1);
		break;
	case JFR_FLOAT:
		cursor_skip(c, 4);
		break;
	case JFR_DOUBLE:
		cursor_skip(c, 8);
		break;
	case JFR_STRING:
		skip_string(c);
		break;
	case JFR_STRUCT:
		for (size_t i = 0; i < type->field_count && !c->bad; i++)
			if (type->fields[i].is_array)
				skip_array(c, &type->fields[i], depth + 1);
			else
				skip_element(c, &type->fields[i], depth + 1);
	}
}

void jfr_skip_value(struct cursor *c, const struct jfr_type *type)
{
	skip_value(c, type, 0);
}

void jfr_skip_field(struct cursor *c, const struct jfr_field *field)
{
	if (field->is_array)
		skip_array(c, field, 0);
	else
		skip_element(c, field, 0);
}

bool jfr_constant_get(const struct jfr_chunk *chunk, const struct jfr_type *type, uint64_t key,
		      struct jfr_value *out)
{
	const struct jfr_constant *constant = type ? jfr_pool_find(&type->pool, key) : NULL;

	if (!constant)
		return false;
	*out = (struct jfr_value){ type, chunk->data + constant->at,
				   chunk->data + chunk->header.size };
	return true;
}

bool jfr_value_get_field(const struct jfr_chunk *chunk, const struct jfr_value *value,
			 const char *name, struct jfr_value *out)
{
	struct cursor c = { value->at, value->end, false };

	for (size_t i = 0; i < value->type->field_count && !c.bad; i++) {
		const struct jfr_field *field = &value->type->fields[i];

		if (strcmp(field->name, name)) {
			jfr_skip_field(&c, field);
			continue;
		}
		if (field->is_constant && !field->is_array)
			return jfr_constant_get(chunk, field->type, cursor_varint(&c), out);
		*out = (struct jfr_value){ field->type, c.at, value->end };
		return true;
	}
	return false;
}

bool jfr_event_get_field(const struct jfr_chunk *chunk, const struct jfr_event *event,
			 const char *name, struct jfr_value *out)
{
	struct jfr_value value = { event->type, event->body, event->end };

	return event->type && jfr_value_get_field(chunk, &value, name, out);
}

int64_t jfr_value_integer(const struct jfr_value *value)
{
	struct cursor c = { value->at, value->end, false };

	if (value->type->shape == JFR_VARINT)
		return (int64_t)cursor_varint(&c);
	if (value->type->shape == JFR_BYTE)
		return cursor_byte(&c);
	return 0;
}

uint64_t jfr_event_get_integer(const struct jfr_chunk *chunk, const struct jfr_event *event,
			       const char *name)
{
	struct jfr_value value;

	return jfr_event_get_field(chunk, event, name, &value) ? (uint64_t)jfr_value_integer(&value)
							       : 0;
}

static int append_utf8(struct buf *out, uint32_t point)
{
	char utf8[4];

	return buf_append(out, utf8, utf8_encode(utf8, point));
}

static bool append_utf16(struct cursor *c, struct buf *out)
{
	uint64_t count = cursor_varint(c);
	uint32_t high = 0, unit;

	for (; count && !c->bad; count--) {
		unit = (uint32_t)cursor_varint(c) & 0xffff;
		if (high && unit >= 0xdc00 && unit < 0xe000)
			unit = 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00);
		else if (high && append_utf8(out, 0xfffd))
			return false;
		high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
		if (!high && append_utf8(out, unit))
			return false;
	}
	return !c->bad;
}

/* NESTED prevents endless recursion through constants that refer to constants. */
static bool append_string(const struct jfr_chunk *chunk, const struct jfr_value *value,
			  struct buf *out, bool nested)
{
	struct cursor c = { value->at, value->end, false };
	struct jfr_value constant;
	uint64_t count;

	switch (cursor_byte(&c)) {
	case 1:
		return !c.bad;
	case 2:
		return !nested &&
		       jfr_constant_get(chunk, jfr_type_by_name(chunk, "java.lang.String"),
					cursor_varint(&c), &constant) &&
		       append_string(chunk, &constant, out, true);
	case 3:
		count = cursor_varint(&c);
		return count <= cursor_left(&c) && !buf_append(out, c.at, count);
	case 4:
		return append_utf16(&c, out);
	case 5:
		count = cursor_varint(&c);
		if (count > cursor_left(&c))
			return false;
		while (count--)
			if (append_utf8(out, *c.at++))
				return false;
		return true;
	default: /* null, or damaged */
		return false;
	}
}

bool jfr_value_append_string(const struct jfr_chunk *chunk, const struct jfr_value *value,
			     struct buf *out)
{
	struct jfr_value inner = *value;
	const struct jfr_field *field;
	struct cursor c = { value->at, value->end, false };

	/* Symbols and thread states are structs that contain one string. */
	if (value->type->shape == JFR_STRUCT && value->type->field_count) {
		field = &value->type->fields[0];
		if (field->is_array)
			return false;
		inner = (struct jfr_value){ field->type, c.at, value->end };
		if (field->is_constant &&
		    !jfr_constant_get(chunk, field->type, cursor_varint(&c), &inner))
			return false;
	}
	return inner.type->shape == JFR_STRING && append_string(chunk, &inner, out, false);
}

bool jfr_event_thread_id(const struct jfr_chunk *chunk, const struct jfr_event *event,
			 const char *field, int64_t *tid)
{
	struct jfr_value thread, id;

	if (!jfr_event_get_field(chunk, event, field, &thread) ||
	    !jfr_value_get_field(chunk, &thread, "osThreadId", &id))
		return false;
	*tid = jfr_value_integer(&id);
	return true;
}
