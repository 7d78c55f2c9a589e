/* Parser of a chunk's metadata event: a string table, then a tree of elements with attributes. Only
 * `class` and `field` elements are used. */
#include "profile/jfr/jfr_meta.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/jfr/jfr_value.h"

#define DEPTH_MAX 32

/* Limits, as a few bytes of a damaged recording could request much memory. Real metadata is far
 * smaller. */
#define STRINGS_MAX (1u << 20)
#define TEXT_MAX    (16u << 20)
#define TYPES_MAX   (1u << 14)
#define FIELDS_MAX  (1u << 18)

/* The elements are walked twice: first to count them, then to fill the allocated types and
 * fields. */
struct meta {
	struct jfr_chunk *chunk;
	struct cursor c;
	const char **strings;
	size_t string_count;
	size_t types, fields; /* counted so far */
	bool fill;            /* second walk */
	struct jfr_field *field_space;
};

static const struct {
	const char *name;
	enum jfr_shape shape;
} primitives[] = {
	{ "boolean", JFR_BYTE }, { "byte", JFR_BYTE },     { "char", JFR_VARINT },
	{ "short", JFR_VARINT }, { "int", JFR_VARINT },    { "long", JFR_VARINT },
	{ "float", JFR_FLOAT },  { "double", JFR_DOUBLE }, { "java.lang.String", JFR_STRING },
};

static const struct {
	const char *name;
	enum jfr_slot slot;
} slots[] = {
	{ "startTime", JFR_TIME },
	{ "eventThread", JFR_THREAD },
	{ "sampledThread", JFR_THREAD },
	{ "stackTrace", JFR_STACK },
	{ "state", JFR_STATE },
	{ "samples", JFR_SAMPLES },
	{ "duration", JFR_DURATION },
	{ "timeSpan", JFR_SPAN },
	{ "address", JFR_ADDRESS },
	{ "size", JFR_SIZE },
	{ "allocationSize", JFR_SIZE },
	{ "tlabSize", JFR_TLAB },
	{ "weight", JFR_WEIGHT },
	{ "objectClass", JFR_CLASS },
	{ "monitorClass", JFR_CLASS },
	{ "parkedClass", JFR_CLASS },
	{ "birth", JFR_BIRTH },
	{ "allocationTime", JFR_BIRTH },
	{ "count", JFR_COUNT },
	{ "bytes", JFR_BYTES },
	{ "oldest", JFR_OLDEST },
	{ "context", JFR_CONTEXT },
	{ "wait", JFR_WAIT },
	{ "ownerStackTrace", JFR_OWNER_STACK },
	{ "ownerDelay", JFR_OWNER_DELAY },
	{ "type", JFR_TYPE },
	{ "baseAddress", JFR_BASE },
	{ "topAddress", JFR_TOP },
	{ "allocatedCount", JFR_TOTAL_COUNT },
	{ "allocatedBytes", JFR_TOTAL_BYTES },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

int jfr_set_error(struct jfr_chunk *chunk, const uint8_t *at, const char *what)
{
	if (!chunk->error.what) {
		chunk->error.what = what;
		chunk->error.offset = chunk->header.offset + (uint64_t)(at - chunk->data);
	}
	return -EBADMSG;
}

static const char *meta_read_string(struct meta *m)
{
	uint64_t index = cursor_varint(&m->c);

	if (index >= m->string_count) {
		cursor_fail(&m->c);
		return "";
	}
	return m->strings[index];
}

static void meta_set_attribute(struct jfr_type *type, struct jfr_field *field, const char *name,
			       const char *value)
{
	if (type && !strcmp(name, "id"))
		type->id = strtoll(value, NULL, 10);
	else if (type && !strcmp(name, "name"))
		type->name = value;
	else if (field && !strcmp(name, "name"))
		field->name = value;
	else if (field && !strcmp(name, "class"))
		field->type_id = strtoll(value, NULL, 10);
	else if (field && !strcmp(name, "constantPool"))
		field->is_constant = !strcmp(value, "true");
	else if (field && !strcmp(name, "dimension"))
		field->is_array = strcmp(value, "0") != 0;
}

/* Read one element and its descendants. OWNER is the enclosing class. */
static void meta_read_element(struct meta *m, struct jfr_type *owner, int depth)
{
	struct jfr_type *type = NULL;
	struct jfr_field *field = NULL;
	const char *element = meta_read_string(m), *name;
	uint64_t count;

	if (depth > DEPTH_MAX)
		cursor_fail(&m->c);
	if (!strcmp(element, "class")) {
		if (m->fill) {
			type = &m->chunk->types[m->types];
			type->fields = m->field_space + m->fields;
			type->name = "";
		}
		m->types++;
	} else if (!strcmp(element, "field")) {
		if (m->fill) {
			field = &m->field_space[m->fields];
			field->name = "";
			if (!owner || field != owner->fields + owner->field_count)
				cursor_fail(&m->c); /* fields of a class must be adjacent */
			else
				owner->field_count++;
		}
		m->fields++;
	}
	for (count = cursor_varint(&m->c); count && !m->c.bad; count--) {
		name = meta_read_string(m);
		meta_set_attribute(type, field, name, meta_read_string(m));
	}
	for (count = cursor_varint(&m->c); count && !m->c.bad; count--)
		meta_read_element(m, type, depth + 1);
}

static int meta_read_strings(struct meta *m)
{
	uint64_t count = cursor_varint(&m->c);
	struct jfr_value value = { .end = m->c.end };
	static const struct jfr_type string = { .shape = JFR_STRING };
	struct buf text = BUF_INIT(TEXT_MAX);
	size_t *at = NULL;
	int err = -EBADMSG;

	if (count > cursor_left(&m->c) || count > STRINGS_MAX)
		goto out;
	err = -ENOMEM;
	at = calloc(count + 1, sizeof(*at));
	m->strings = calloc(count + 1, sizeof(*m->strings));
	if (!at || !m->strings)
		goto out;
	value.type = &string;
	for (uint64_t i = 0; i < count; i++) {
		at[i] = text.length;
		value.at = m->c.at;
		if (m->c.at < m->c.end && *m->c.at != 2) /* constants are not indexed yet */
			jfr_value_append_string(m->chunk, &value, &text);
		err = buf_append(&text, "", 1);
		if (err) {
			err = err == -EFBIG ? -EBADMSG : err;
			goto out;
		}
		jfr_skip_value(&m->c, &string);
	}
	for (uint64_t i = 0; i < count; i++)
		m->strings[i] = (const char *)text.data + at[i];
	m->string_count = count;
	m->chunk->arena = text.data;
	text.data = NULL;
	err = m->c.bad ? -EBADMSG : 0;
out:
	free(at);
	buf_free(&text);
	return err;
}

/* Maximum number of reads for a value of TYPE; an array counts once. A type that contains itself
 * or is unreasonably large gets more than READ_COST_MAX. */
#define READ_COST_MAX 4096
static unsigned type_read_cost(const struct jfr_type *type, int depth)
{
	unsigned cost = 1;

	if (depth > DEPTH_MAX)
		return READ_COST_MAX + 1;
	for (size_t i = 0; i < type->field_count && cost <= READ_COST_MAX; i++)
		cost += type->fields[i].is_constant || type->fields[i].is_array
				? 1
				: type_read_cost(type->fields[i].type, depth + 1);
	return cost;
}

/* Set each type's shape, kind and entry in by_id, and link fields to their types. */
static int meta_link_types(struct jfr_chunk *chunk)
{
	for (size_t i = 0; i < chunk->type_count; i++) {
		struct jfr_type *type = &chunk->types[i];

		if (type->id >= 0 && type->id < JFR_SMALL_ID && i < UINT16_MAX)
			chunk->by_id[type->id] = (uint16_t)(i + 1);
		for (size_t k = 0; k < COUNT(primitives); k++)
			if (!strcmp(type->name, primitives[k].name))
				type->shape = primitives[k].shape;
		type->kind = jfr_kind_named(type->name);
	}
	for (size_t i = 0; i < chunk->type_count; i++)
		for (size_t k = 0; k < chunk->types[i].field_count; k++) {
			struct jfr_field *field = &chunk->types[i].fields[k];

			field->type = jfr_type_by_id(chunk, (uint64_t)field->type_id);
			if (!field->type)
				return -EBADMSG;
		}
	for (size_t i = 0; i < chunk->type_count; i++)
		if (type_read_cost(&chunk->types[i], 0) > READ_COST_MAX)
			return -EBADMSG;
	return 0;
}

static bool is_integer(const struct jfr_field *field)
{
	return !field->is_array && (field->is_constant || field->type->shape == JFR_VARINT);
}

static int field_slot(const struct jfr_field *field)
{
	if (!is_integer(field))
		return -1;
	for (size_t i = 0; i < COUNT(slots); i++)
		if (!strcmp(field->name, slots[i].name))
			return (int)slots[i].slot;
	return -1;
}

/* Maximum number of bytes that TYPE's plan reads; 0 if not all of its fields are integers. */
static unsigned plan_max_bytes(const struct jfr_type *type)
{
	unsigned integers = 0;

	for (size_t i = 0; i < type->plan_length; i++) {
		if (type->plan[i].slot < 0)
			return 0;
		integers += type->plan[i].skip + 1u;
	}
	return integers * 9;
}

/* Make the plan that fills an event's slots. It ends at the last field that has a slot. If a type
 * has more fields than a plan holds, the plan is cut; real events have far fewer. */
static void type_make_plan(struct jfr_type *type)
{
	struct jfr_step *step = type->plan;
	unsigned skip = 0;

	for (size_t i = 0; i < type->field_count && step < type->plan + JFR_PLAN_MAX; i++) {
		const struct jfr_field *field = &type->fields[i];
		int slot = field_slot(field);

		if (slot < 0 && is_integer(field) && skip < UINT8_MAX) {
			skip++;
			continue;
		}
		*step++ = (struct jfr_step){ (uint8_t)skip, (int8_t)slot, field };
		skip = 0;
		if (slot >= 0)
			type->plan_length = (size_t)(step - type->plan);
	}
	type->plan_bytes = plan_max_bytes(type);
}

static int meta_walk_tree(struct meta *m, struct cursor tree, bool fill)
{
	m->c = tree;
	m->types = m->fields = 0;
	m->fill = fill;
	meta_read_element(m, NULL, 0);
	return m->c.bad ? -EBADMSG : 0;
}

int jfr_meta_read(struct jfr_chunk *chunk)
{
	const uint8_t *at = chunk->data + chunk->header.metadata;
	struct meta m = { .chunk = chunk, .c = { at, chunk->data + chunk->header.size, false } };
	uint64_t size = cursor_varint(&m.c);
	struct cursor tree;
	int err = -EBADMSG;

	if (size > (uint64_t)(m.c.end - at))
		goto out;
	m.c.end = at + size;
	for (int i = 0; i < 4; i++) /* type, start, duration, id */
		cursor_skip_varint(&m.c);
	err = meta_read_strings(&m);
	if (err)
		goto out;
	tree = m.c;
	err = meta_walk_tree(&m, tree, false);
	if (!err && (m.types > TYPES_MAX || m.fields > FIELDS_MAX))
		err = -EBADMSG;
	if (err)
		goto out;
	err = -ENOMEM;
	chunk->types = calloc(m.types + 1, sizeof(*chunk->types));
	if (!chunk->types)
		goto out;
	chunk->type_count = m.types;
	/* A spare type at the end owns the memory of all fields. */
	m.field_space = calloc(m.fields + 1, sizeof(*m.field_space));
	chunk->types[m.types].fields = m.field_space;
	chunk->by_id = calloc(JFR_SMALL_ID, sizeof(*chunk->by_id));
	if (!m.field_space || !chunk->by_id)
		goto out;
	err = meta_walk_tree(&m, tree, true);
	if (!err)
		err = meta_link_types(chunk);
	for (size_t i = 0; !err && i < chunk->type_count; i++)
		type_make_plan(&chunk->types[i]);
out:
	free(m.strings);
	return err == -EBADMSG ? jfr_set_error(chunk, at, "damaged metadata") : err;
}

void jfr_meta_free(struct jfr_chunk *chunk)
{
	if (chunk->types)
		free(chunk->types[chunk->type_count].fields);
	free(chunk->types);
	free(chunk->by_id);
	free(chunk->arena);
	chunk->types = NULL;
	chunk->by_id = NULL;
	chunk->arena = NULL;
	chunk->type_count = 0;
}
