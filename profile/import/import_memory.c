/* Sums of imported memory samples by stack. */
#include "profile/import/import_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/basics/array.h"

/* Start of a key; texts of these lengths follow, then the frames. Interned by its bytes, so it has no
 * padding. */
struct key_head {
	uint32_t tid, thread_length, labels_length, depth;
};

#define KEY_MAX (1u << 20)

int import_memory_add(struct import_memory *memory, struct import_writer *w,
		      const struct import_sample *sample, const struct import_memory_values *add)
{
	struct key_head head = { .tid = sample->tid,
				 .thread_length = (uint32_t)sample->thread.length,
				 .labels_length = (uint32_t)sample->labels.length,
				 .depth = (uint32_t)w->depth };
	struct import_memory_values *sum;
	struct buf key = BUF_INIT(KEY_MAX);
	uint32_t id = 0;
	int err = import_take_size(w, sample->labels.length) ? buf_append(&key, &head, sizeof(head))
							     : -EFBIG;

	if (!err)
		err = buf_append(&key, sample->thread.text, sample->thread.length);
	if (!err)
		err = buf_append(&key, sample->labels.text, sample->labels.length);
	if (!err)
		err = buf_append(&key, w->pcs, w->depth * sizeof(*w->pcs));
	if (!err)
		id = intern(&memory->keys, key.data, key.length);
	buf_free(&key);
	if (err == -EFBIG)
		return -ERANGE;
	if (!id || array_reserve(&memory->values, &memory->capacity, id, sizeof(*sum)))
		return -ENOMEM;
	sum = &memory->values[id];
	return __builtin_add_overflow(sum->count, add->count, &sum->count) ||
			       __builtin_add_overflow(sum->bytes, add->bytes, &sum->bytes) ||
			       __builtin_add_overflow(sum->live_count, add->live_count,
						      &sum->live_count) ||
			       __builtin_add_overflow(sum->live_bytes, add->live_bytes,
						      &sum->live_bytes)
		       ? -ERANGE
		       : 0;
}

/* Make the stack of KEY the writer's current one, and set the thread and labels of SAMPLE. */
static void restore_key(struct import_writer *w, const char *key, struct import_sample *sample)
{
	struct key_head head;
	uintptr_t pc;

	memcpy(&head, key, sizeof(head));
	key += sizeof(head);
	sample->tid = head.tid;
	sample->thread = (struct import_text){ key, head.thread_length };
	key += head.thread_length;
	sample->labels = (struct import_text){ key, head.labels_length };
	key += head.labels_length;
	import_stack_begin(w);
	for (uint32_t i = 0; i < head.depth; i++, key += sizeof(pc)) {
		memcpy(&pc, key, sizeof(pc));
		import_stack_add_id(w, (uint32_t)pc);
	}
}

int import_memory_write(const struct import_memory *memory, struct import_writer *w,
			int64_t time_ns)
{
	int err = 0;

	for (uint32_t id = 1; id <= memory->keys.count && !err; id++) {
		const struct import_memory_values *v = &memory->values[id];
		struct import_sample sample = { .kind = IMPORT_MEMORY,
						.time_ns = time_ns,
						.count = v->live_count,
						.bytes = v->live_bytes };

		restore_key(w, intern_key(&memory->keys, id), &sample);
		if (sample.bytes)
			err = import_write_sample(w, &sample);
		sample.count = v->count > v->live_count ? v->count - v->live_count : 0;
		sample.bytes = v->bytes > v->live_bytes ? v->bytes - v->live_bytes : 0;
		sample.is_freed = true;
		if (!err && sample.bytes)
			err = import_write_sample(w, &sample);
	}
	return err;
}

void import_memory_free(struct import_memory *memory)
{
	intern_free(&memory->keys);
	free(memory->values);
}
