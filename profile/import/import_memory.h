/* Sums of imported memory samples by stack. Some writers have allocated and live memory of one stack
 * in one sample, others in two. */
#ifndef PROFILE_IMPORT_IMPORT_MEMORY_H
#define PROFILE_IMPORT_IMPORT_MEMORY_H

#include "profile/import/import_writer.h"

struct import_memory_values {
	uint64_t count, bytes;           /* of all allocations */
	uint64_t live_count, live_bytes; /* of the allocations without a free */
};

/* Starts as {0}. */
struct import_memory {
	struct intern keys; /* thread, labels and stack */
	struct import_memory_values *values;
	uint32_t capacity;
};

/* Add VALUES to those of the writer's current stack, of the thread and the labels of SAMPLE. Returns
 * 0, -ENOMEM, or -ERANGE if a sum is too large. */
int import_memory_add(struct import_memory *memory, struct import_writer *w,
		      const struct import_sample *sample,
		      const struct import_memory_values *values);

/* Write all sums, with TIME_NS. Returns 0, or -ERANGE. */
int import_memory_write(const struct import_memory *memory, struct import_writer *w,
			int64_t time_ns);
void import_memory_free(struct import_memory *memory);

#endif
