/* Encoder of the type tables as a chunk's metadata: a table of strings, then a tree of elements.
 * Each element has attributes (pairs of string numbers) and children. */
#include "engine/jfr/jfr_metadata.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/jfr/jfr_encode.h"
#include "engine/jfr/jfr_index.h"
#include "engine/jfr/jfr_types.h"

#define STRINGS_MAX 512
#define SLOTS       1024 /* a power of two, at least twice STRINGS_MAX */
#define TREE_MAX    (32u << 10)

struct builder {
	struct buf tree;
	const char *strings[STRINGS_MAX];
	uint32_t string_count;
	uint16_t slots[SLOTS]; /* by hash: 1 + the number of a string; 0: free */
	char numbers[256][4];  /* type ids in decimal, for attributes */
	int err;
};

static void tree_put_number(struct builder *b, uint64_t value)
{
	uint8_t bytes[JFR_VARINT_MAX];
	size_t length = (size_t)(jfr_put_varint(bytes, value) - bytes);

	if (!b->err)
		b->err = buf_append(&b->tree, bytes, length);
}

/* The slot of STRING, or a free one for it. */
static uint16_t *string_slot(struct builder *b, const char *string)
{
	uint64_t hash = 0;
	uint32_t i;

	for (const char *p = string; *p; p++)
		hash = jfr_hash_step(hash, (uint8_t)*p);
	for (i = jfr_hash_end(hash) % SLOTS; b->slots[i]; i = (i + 1) % SLOTS)
		if (!strcmp(b->strings[b->slots[i] - 1], string))
			break;
	return &b->slots[i];
}

static void tree_put_string(struct builder *b, const char *string)
{
	uint16_t *slot = string_slot(b, string);

	if (!*slot) {
		if (b->string_count == STRINGS_MAX) {
			b->err = -E2BIG;
			return;
		}
		b->strings[b->string_count++] = string;
		*slot = (uint16_t)b->string_count;
	}
	tree_put_number(b, *slot - 1u);
}

/* An element is its name, then the given number of attributes and children. */
static void tree_element(struct builder *b, const char *name, uint32_t attributes)
{
	tree_put_string(b, name);
	tree_put_number(b, attributes);
}

static void tree_attribute(struct builder *b, const char *key, const char *value)
{
	tree_put_string(b, key);
	tree_put_string(b, value);
}

static void tree_type_attribute(struct builder *b, const char *key, enum jfr_type_id type)
{
	snprintf(b->numbers[type], sizeof(b->numbers[type]), "%u", (unsigned)type % 1000);
	tree_attribute(b, key, b->numbers[type]);
}

static void tree_annotation(struct builder *b, enum jfr_type_id type, const char *value)
{
	tree_element(b, "annotation", value ? 2 : 1);
	tree_type_attribute(b, "class", type);
	if (value)
		tree_attribute(b, "value", value);
	tree_put_number(b, 0);
}

/* The annotations of each unit; type 0: none. */
static const struct {
	struct {
		enum jfr_type_id type;
		const char *value;
	} annotations[2];
} units[] = {
	[JFR_UNIT_NONE] = { { { 0, NULL } } },
	[JFR_UNIT_COUNT] = { { { JFR_T_UNSIGNED, NULL } } },
	[JFR_UNIT_BYTES] = { { { JFR_T_UNSIGNED, NULL }, { JFR_T_DATA_AMOUNT, "BYTES" } } },
	[JFR_UNIT_ADDRESS] = { { { JFR_T_UNSIGNED, NULL }, { JFR_T_MEMORY_ADDRESS, NULL } } },
	[JFR_UNIT_RATIO] = { { { JFR_T_PERCENTAGE, NULL } } },
	[JFR_UNIT_TICKS] = { { { JFR_T_TIMESTAMP, "TICKS" } } },
	[JFR_UNIT_MILLIS] = { { { JFR_T_TIMESTAMP, "MILLISECONDS_SINCE_EPOCH" } } },
	[JFR_UNIT_SPAN_TICKS] = { { { JFR_T_TIMESPAN, "TICKS" } } },
	[JFR_UNIT_SPAN_MILLIS] = { { { JFR_T_TIMESPAN, "MILLISECONDS" } } },
	[JFR_UNIT_SPAN_NANOS] = { { { JFR_T_TIMESPAN, "NANOSECONDS" } } },
};

static uint32_t unit_annotations(enum jfr_unit unit)
{
	uint32_t count = 0;

	while (count < 2 && units[unit].annotations[count].type)
		count++;
	return count;
}

static void tree_field(struct builder *b, const struct jfr_field_row *row)
{
	uint32_t i, annotations = unit_annotations(row->unit);

	tree_element(b, "field", row->place == JFR_INLINE ? 2 : 3);
	tree_attribute(b, "name", row->name);
	tree_type_attribute(b, "class", row->type);
	if (row->place == JFR_IN_POOL)
		tree_attribute(b, "constantPool", "true");
	else if (row->place == JFR_IN_ARRAY)
		tree_attribute(b, "dimension", "1");

	tree_put_number(b, (row->label ? 1u : 0) + annotations);
	if (row->label)
		tree_annotation(b, JFR_T_LABEL, row->label);
	for (i = 0; i < annotations; i++)
		tree_annotation(b, units[row->unit].annotations[i].type,
				units[row->unit].annotations[i].value);
}

static void tree_category(struct builder *b, const struct jfr_type_row *row)
{
	static const char *const keys[JFR_CATEGORIES_MAX] = { "value-0", "value-1" };
	uint32_t i, count = 0;

	while (count < JFR_CATEGORIES_MAX && row->category[count])
		count++;
	tree_element(b, "annotation", 1 + count);
	tree_type_attribute(b, "class", JFR_T_CATEGORY);
	for (i = 0; i < count; i++)
		tree_attribute(b, keys[i], row->category[i]);
	tree_put_number(b, 0);
}

static const char *super_type(enum jfr_type_id type)
{
	if (type > JFR_T_ANNOTATION)
		return "java.lang.annotation.Annotation";
	return type > JFR_T_EVENT ? "jdk.jfr.Event" : NULL;
}

static void tree_class(struct builder *b, const struct jfr_type_row *row)
{
	const char *super = super_type(row->type);
	/* Annotations of a number's unit are marked as content types, so that readers keep them. */
	uint32_t content = row->type > JFR_T_CONTENT_TYPE;
	uint32_t fields = 0;
	size_t i;

	tree_element(b, "class", 2u + row->simple + (super ? 1 : 0));
	tree_attribute(b, "name", row->name);
	tree_type_attribute(b, "id", row->type);
	if (row->simple)
		tree_attribute(b, "simpleType", "true");
	if (super)
		tree_attribute(b, "superType", super);

	for (i = 0; i < jfr_field_count; i++)
		fields += jfr_fields[i].owner == row->type;
	tree_put_number(b, (row->label ? 1u : 0) + (row->category[0] ? 1u : 0) + content + fields);
	if (row->label)
		tree_annotation(b, JFR_T_LABEL, row->label);
	if (row->category[0])
		tree_category(b, row);
	if (content)
		tree_annotation(b, JFR_T_CONTENT_TYPE, NULL);
	for (i = 0; i < jfr_field_count; i++)
		if (jfr_fields[i].owner == row->type)
			tree_field(b, &jfr_fields[i]);
}

static void tree_write(struct builder *b)
{
	size_t i;

	tree_element(b, "root", 0);
	tree_put_number(b, 2);

	tree_element(b, "metadata", 0);
	tree_put_number(b, jfr_type_count);
	for (i = 0; i < jfr_type_count; i++)
		tree_class(b, &jfr_types[i]);

	tree_element(b, "region", 2);
	tree_attribute(b, "locale", "en_US");
	tree_attribute(b, "gmtOffset", "0");
	tree_put_number(b, 0);
}

static int append_string_table(struct buf *body, const struct builder *b)
{
	uint8_t head[1 + JFR_VARINT_MAX];
	uint32_t i;
	int err;

	err = buf_append(body, head, (size_t)(jfr_put_varint(head, b->string_count) - head));
	for (i = 0; !err && i < b->string_count; i++) {
		head[0] = JFR_STRING_UTF8;
		err = buf_append(body, head,
				 (size_t)(jfr_put_varint(head + 1, strlen(b->strings[i])) - head));
		if (!err)
			err = buf_append_string(body, b->strings[i]);
	}
	return err;
}

int jfr_metadata(struct buf *out)
{
	struct builder b = { .tree = BUF_INIT(TREE_MAX) };
	int err;

	tree_write(&b);
	err = b.err;
	if (!err)
		err = append_string_table(out, &b);
	if (!err)
		err = buf_append(out, b.tree.data, b.tree.length);
	buf_free(&b.tree);
	return err;
}
