/* Maps program counters to the methods, classes and symbols of the constant pools. */
#include "engine/jfr/jfr_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Signature of native methods, as in async-profiler; kernel frames are recognized by theirs. */
#define DESCRIPTOR_NATIVE "()L;"
#define DESCRIPTOR_KERNEL "(Lk;)L;"

static const char *const special_names[] = {
	[JFR_STACK_TABLE_FULL] = "[stack table full]",
	[JFR_STACK_UNKNOWN] = "[unknown]",
};

_Static_assert(sizeof(special_names) / sizeof(*special_names) == JFR_STACK_SPECIALS,
	       "every special stack has a name");

static uint32_t hash_string(const char *string)
{
	uint64_t hash = 0;

	while (*string)
		hash = jfr_hash_step(hash, (uint8_t)*string++);
	return jfr_hash_end(hash);
}

static int intern_symbol(struct jfr_names *names, const char *string, uint32_t *number)
{
	uint32_t hash = hash_string(string), cursor;
	uint32_t n = jfr_index_first(&names->symbol_index, hash, &cursor);
	int err;

	while (n != JFR_INDEX_NONE && strcmp(names->symbols[n], string))
		n = jfr_index_next(&names->symbol_index, hash, &cursor);
	*number = n;
	if (n != JFR_INDEX_NONE)
		return 0;
	n = names->symbol_count;
	err = jfr_grow(&names->symbols, &names->symbol_capacity, n + 1, JFR_INDEX_NONE,
		       sizeof(*names->symbols));
	if (!err)
		err = jfr_index_add(&names->symbol_index, hash, n);
	if (err)
		return err;
	names->symbols[names->symbol_count++] = string;
	*number = n;
	return 0;
}

static int intern_class(struct jfr_names *names, const char *string, uint32_t *number)
{
	uint32_t symbol, hash, cursor, n;
	int err;

	err = intern_symbol(names, string, &symbol);
	if (err)
		return err;
	hash = jfr_hash_end(jfr_hash_step(0, symbol));
	n = jfr_index_first(&names->class_index, hash, &cursor);
	while (n != JFR_INDEX_NONE && names->classes[n] != symbol)
		n = jfr_index_next(&names->class_index, hash, &cursor);
	*number = n;
	if (n != JFR_INDEX_NONE)
		return 0;
	n = names->class_count;
	err = jfr_grow(&names->classes, &names->class_capacity, n + 1, JFR_INDEX_NONE,
		       sizeof(*names->classes));
	if (!err)
		err = jfr_index_add(&names->class_index, hash, n);
	if (err)
		return err;
	names->classes[names->class_count++] = symbol;
	*number = n;
	return 0;
}

static bool same_method(const struct jfr_method_row *a, const struct jfr_method_row *b)
{
	return a->class == b->class && a->name == b->name && a->descriptor == b->descriptor;
}

static int add_method(struct jfr_names *names, const struct jfr_method_row *row, uint32_t *number)
{
	uint64_t mix = jfr_hash_step(jfr_hash_step(row->descriptor, row->class), row->name);
	uint32_t hash = jfr_hash_end(mix), cursor;
	uint32_t n = jfr_index_first(&names->method_index, hash, &cursor);
	int err;

	while (n != JFR_INDEX_NONE && !same_method(&names->methods[n], row))
		n = jfr_index_next(&names->method_index, hash, &cursor);
	*number = n;
	if (n != JFR_INDEX_NONE)
		return 0;
	n = names->method_count;
	err = jfr_grow(&names->methods, &names->method_capacity, n + 1, JFR_INDEX_NONE,
		       sizeof(*names->methods));
	if (!err)
		err = jfr_index_add(&names->method_index, hash, n);
	if (err)
		return err;
	names->methods[names->method_count++] = *row;
	*number = n;
	return 0;
}

static int intern_method(struct jfr_names *names, const struct jfr_frame_name *frame,
			 uint32_t *number)
{
	const char *name = frame->method_name ? frame->method_name : "[unknown]";
	const char *descriptor =
		frame->type == JFR_FRAME_KERNEL ? DESCRIPTOR_KERNEL : DESCRIPTOR_NATIVE;
	struct jfr_method_row row;
	int err;

	err = intern_class(names, frame->class_name ? frame->class_name : "", &row.class);
	if (!err)
		err = intern_symbol(names, name, &row.name);
	if (!err)
		err = intern_symbol(names, descriptor, &row.descriptor);
	return err ? err : add_method(names, &row, number);
}

/* Add the methods that are inlined in frame NUMBER. */
static int intern_inlined(struct jfr_names *names, uint32_t number)
{
	struct jfr_frame_name frame = names->frames[number];
	uint32_t count = names->inlined_from[number];
	const char *name = frame.inlined;
	int err = 0;

	for (; !err && name && *name; name += strlen(name) + 1) {
		frame.method_name = name;
		err = jfr_grow(&names->inlined, &names->inlined_capacity, count + 1, JFR_INDEX_NONE,
			       sizeof(*names->inlined));
		if (!err)
			err = intern_method(names, &frame, &names->inlined[count++]);
	}
	names->inlined_from[number + 1] = count;
	return err;
}

int jfr_names_make(struct jfr_names *names, const struct jfr_stacks *stacks, jfr_namer *namer,
		   void *context)
{
	uint32_t i, count = stacks->pc_count;
	int err;

	*names = (struct jfr_names){ .frame_count = count + JFR_STACK_SPECIALS };
	names->frames = calloc(names->frame_count, sizeof(*names->frames));
	names->methods_of = calloc(names->frame_count, sizeof(*names->methods_of));
	names->inlined_from = calloc(names->frame_count + 1, sizeof(*names->inlined_from));
	if (!names->frames || !names->methods_of || !names->inlined_from)
		return -ENOMEM;

	err = count ? namer(context, stacks->pcs, stacks->is_return, count, names->frames) : 0;
	for (i = 0; !err && i < count; i++) {
		err = intern_method(names, &names->frames[i], &names->methods_of[i]);
		if (!err)
			err = intern_inlined(names, i);
	}
	for (i = 0; !err && i < JFR_STACK_SPECIALS; i++) {
		names->inlined_from[count + i + 1] = names->inlined_from[count];
		if (!stacks->special[i])
			continue;
		names->frames[count + i].method_name = special_names[i];
		names->frames[count + i].type = JFR_FRAME_NATIVE;
		err = intern_method(names, &names->frames[count + i],
				    &names->methods_of[count + i]);
	}
	return err;
}

void jfr_names_free(struct jfr_names *names)
{
	free(names->frames);
	free(names->methods_of);
	free(names->inlined);
	free(names->inlined_from);
	free(names->methods);
	free(names->classes);
	free(names->symbols);
	jfr_index_free(&names->method_index);
	jfr_index_free(&names->class_index);
	jfr_index_free(&names->symbol_index);
	*names = (struct jfr_names){ 0 };
}
