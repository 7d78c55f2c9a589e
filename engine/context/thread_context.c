/* Context of the calling thread for its samples. */
#include "engine/context/thread_context.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/reading/memory_reader.h"
#include "engine/reading/program_thread.h"
#include "engine/runtime/go/go_labels.h"

/* Handlers may be reading a replaced place, so places are never changed or freed; there are few. */
#define KEPT_MAX 16

static struct {
	const struct context_place *_Atomic places[CONTEXT_PLACES_MAX]; /* up to the first NULL */
	size_t count; /* number of stored places */
} context_places;

static struct context_place kept[KEPT_MAX];

static const struct context_place *places_store(const struct context_place *place)
{
	size_t i = 0;

	while (i < context_places.count && memcmp(&kept[i], place, sizeof(*place)))
		i++;
	if (i == KEPT_MAX)
		return NULL;
	if (i == context_places.count)
		memcpy(&kept[context_places.count++], place, sizeof(*place));
	return &kept[i];
}

void thread_context_places(const struct context_place *places, size_t count)
{
	for (size_t i = 0; i < CONTEXT_PLACES_MAX; i++)
		atomic_store(&context_places.places[i],
			     i < count ? places_store(&places[i]) : NULL);
}

static bool read_word(uintptr_t address, uintptr_t *word)
{
	return memory_copy(word, address, sizeof(*word));
}

/* The calling thread's variable of PLACE. Memory next to the thread pointer is always mapped, like
 * the agent's own variables. */
static uintptr_t place_read_variable(const struct context_place *place)
{
	uintptr_t self = program_thread_pointer(), vector, count, block, value;

	if (!place->module)
		return *(const volatile uintptr_t *)(self + (uintptr_t)place->offset);
	if (!read_word(self + (uintptr_t)(intptr_t)place->vector_at, &vector) || !vector ||
	    !read_word(vector + (uintptr_t)(intptr_t)place->count_at, &count) ||
	    place->module > count ||
	    !read_word(vector + place->module * (size_t)place->entry_bytes, &block))
		return 0;
	/* All ones: the thread has not used the block yet. */
	if (!block || block == UINTPTR_MAX || !read_word(block + (uintptr_t)place->offset, &value))
		return 0;
	return value;
}

static bool record_copy(struct thread_context *context, uintptr_t at)
{
	long n = memory_copy_available(context->bytes, at, sizeof(context->bytes));

	if (n < 0 && n != -EFAULT && memory_copy(context->bytes, at, sizeof(struct otel_record)))
		n = sizeof(struct otel_record);
	context->read = n > 0 ? (uint16_t)n : 0;
	return context->read >= sizeof(struct otel_record);
}

static bool context_read_record(struct thread_context *context, uintptr_t at)
{
	const struct otel_record *record = (const struct otel_record *)context->bytes;

	if (!record_copy(context, at) || record->valid != 1)
		return false;
	memcpy(context->trace_id, record->trace_id, sizeof(context->trace_id));
	memcpy(context->span_id, record->span_id, sizeof(context->span_id));
	context->attributes = at + sizeof(*record);
	context->attributes_size = record->attributes < CONTEXT_ATTRIBUTES_MAX
					   ? record->attributes
					   : CONTEXT_ATTRIBUTES_MAX;
	return true;
}

static bool context_find_record(struct thread_context *context)
{
	const struct context_place *place;
	uintptr_t record;

	for (size_t i = 0; i < CONTEXT_PLACES_MAX; i++) {
		place = atomic_load_explicit(&context_places.places[i], memory_order_acquire);
		if (!place)
			break;
		record = place_read_variable(place);
		if (record && context_read_record(context, record))
			return true;
	}
	return false;
}

bool thread_context_may_exist(void)
{
	return atomic_load(&context_places.places[0]) || thread_labels_exist() || go_labels_exist();
}

size_t thread_context_read(struct thread_context *context)
{
	bool published = atomic_load_explicit(&context_places.places[0], memory_order_relaxed);
	size_t labels, bytes;

	context->labels = thread_labels(&context->labels_size);
	context->go_labels_size =
		(uint16_t)go_labels_copy(NULL, THREAD_LABELS_MAX - context->labels_size);
	labels = (size_t)context->labels_size + context->go_labels_size;
	if (!published && !labels)
		return 0;
	context->attributes_size = 0;
	memset(context->trace_id, 0, sizeof(context->trace_id));
	memset(context->span_id, 0, sizeof(context->span_id));
	if (!(published && context_find_record(context)) && !labels)
		return 0;
	bytes = sizeof(struct context_record) + labels + context->attributes_size;
	return (bytes + 7) & ~(size_t)7;
}

static bool copy_attributes(const struct thread_context *context, uint8_t *to)
{
	size_t size = context->attributes_size, head = sizeof(struct otel_record);

	if (!size || size > context->read - head)
		return size && memory_copy(to, context->attributes, size);
	memcpy(to, context->bytes + head, size);
	return true;
}

void thread_context_write(const struct thread_context *context, void *to)
{
	struct context_record *record = to;

	memcpy(record->trace_id, context->trace_id, sizeof(record->trace_id));
	memcpy(record->span_id, context->span_id, sizeof(record->span_id));
	if (context->labels_size)
		memcpy(record->bytes, context->labels, context->labels_size);
	record->labels = context->labels_size;
	if (context->go_labels_size)
		record->labels = (uint16_t)(record->labels +
					    go_labels_copy((char *)record->bytes + record->labels,
							   context->go_labels_size));
	if (copy_attributes(context, record->bytes + record->labels))
		record->attributes = context->attributes_size;
}
