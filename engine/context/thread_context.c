/* What the calling thread is working on. */
#include "engine/context/thread_context.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "engine/arch/thread_pointer.h"
#include "engine/reading/memory_reader.h"

/* A handler may read a place while it is written: what it then finds is read by calls that cannot fault, and
 * is no valid record. */
static struct {
	_Atomic size_t count;
	struct context_place places[CONTEXT_PLACES_MAX];
} all;

void thread_context_places(const struct context_place *places, size_t count)
{
	atomic_store(&all.count, 0);
	if (count)
		memcpy(all.places, places, count * sizeof(*places));
	atomic_store(&all.count, count);
}

static bool read_word(uintptr_t address, uintptr_t *word)
{
	return memory_copy(word, address, sizeof(*word));
}

/* Where the calling thread has its variable of PLACE; 0: nowhere. */
static uintptr_t variable_at(const struct context_place *place)
{
	uintptr_t self = thread_pointer(), vector, count, block;

	if (!place->module)
		return self + (uintptr_t)place->offset;
	if (!read_word(self + (uintptr_t)(intptr_t)place->vector_at, &vector) || !vector ||
	    !read_word(vector + (uintptr_t)(intptr_t)place->count_at, &count) ||
	    place->module > count ||
	    !read_word(vector + place->module * (size_t)place->entry_bytes, &block))
		return 0;
	/* All ones: the thread has not touched it yet. */
	return block && block != UINTPTR_MAX ? block + (uintptr_t)place->offset : 0;
}

static bool take_record(struct thread_context *context, uintptr_t at)
{
	struct otel_record record;

	if (!memory_copy(&record, at, sizeof(record)) || record.valid != 1)
		return false;
	memcpy(context->trace_id, record.trace_id, sizeof(context->trace_id));
	memcpy(context->span_id, record.span_id, sizeof(context->span_id));
	context->attributes = at + sizeof(record);
	context->attributes_size = record.attributes < CONTEXT_ATTRIBUTES_MAX
					   ? record.attributes
					   : CONTEXT_ATTRIBUTES_MAX;
	return true;
}

static bool look_for_record(struct thread_context *context, size_t count)
{
	uintptr_t variable, record;

	for (size_t i = 0; i < count && i < CONTEXT_PLACES_MAX; i++) {
		variable = variable_at(&all.places[i]);
		if (variable && read_word(variable, &record) && record &&
		    take_record(context, record))
			return true;
	}
	return false;
}

size_t thread_context_look(struct thread_context *context)
{
	size_t count = atomic_load_explicit(&all.count, memory_order_acquire), bytes;

	context->labels = thread_labels(&context->labels_size);
	if (!count && !context->labels_size)
		return 0;
	context->attributes_size = 0;
	memset(context->trace_id, 0, sizeof(context->trace_id));
	memset(context->span_id, 0, sizeof(context->span_id));
	if (!(count && look_for_record(context, count)) && !context->labels_size)
		return 0;
	bytes = sizeof(struct context_record) + context->labels_size + context->attributes_size;
	return (bytes + 7) & ~(size_t)7;
}

void thread_context_put(const struct thread_context *context, void *to)
{
	struct context_record *record = to;

	memcpy(record->trace_id, context->trace_id, sizeof(record->trace_id));
	memcpy(record->span_id, context->span_id, sizeof(record->span_id));
	if (context->labels_size)
		memcpy(record->bytes, context->labels, context->labels_size);
	record->labels = context->labels_size;
	if (context->attributes_size && memory_copy(record->bytes + context->labels_size,
						    context->attributes, context->attributes_size))
		record->attributes = context->attributes_size;
}
