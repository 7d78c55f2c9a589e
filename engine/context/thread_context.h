/* What the calling thread is working on, as its samples carry it: the OpenTelemetry context of the thread,
 * where the program publishes one (OTEP 4947: a thread-local variable `otel_thread_ctx_v1`, in whatever
 * module, which points to a record), and what it was labelled with by asprof_agent_label().
 *
 * In a program that has neither this is two loads a sample. */
#ifndef ENGINE_CONTEXT_THREAD_CONTEXT_H
#define ENGINE_CONTEXT_THREAD_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "engine/context/thread_labels.h"

/* What stands behind a sample's stack, padded to words of 8 bytes. */
struct context_record {
	uint8_t trace_id[16], span_id[8];
	uint16_t labels, attributes; /* bytes of each */
	/* First LABELS, each "key", NUL, "value", NUL; then ATTRIBUTES as OTEP 4947 has them: the number of
	 * a key, a length, so many bytes. */
	uint8_t bytes[];
};

/* The most that is taken of these; OTEP 4947 recommends 640 bytes for a whole record. */
#define CONTEXT_ATTRIBUTES_MAX 612

#define CONTEXT_BYTES_MAX \
	(sizeof(struct context_record) + THREAD_LABELS_MAX + CONTEXT_ATTRIBUTES_MAX)

_Static_assert(CONTEXT_BYTES_MAX / 8 < UINT8_MAX, "its length fits a byte, in words");

/* How OTEP 4947 has a record; the attributes follow. */
struct otel_record {
	uint8_t trace_id[16], span_id[8];
	uint8_t valid; /* 1 */
	uint8_t flags;
	uint16_t attributes;
};

/* What was found, until it is put into a sample. */
struct thread_context {
	uint8_t trace_id[16], span_id[8];
	const char *labels;
	uintptr_t attributes;
	uint16_t labels_size, attributes_size;
	/* A call copies as much as it may cost anyway: READ bytes of the record are here. */
	uint16_t read;
	_Alignas(8) uint8_t bytes[128];
};

/* Look what the calling thread is working on. Returns the bytes that thread_context_write() takes, a multiple
 * of 8; 0 where there is nothing. Both are async-signal-safe, and belong together: nothing of the
 * thread's own may run in between. */
size_t thread_context_read(struct thread_context *context);

/* RECORD is zeroed. */
void thread_context_write(const struct thread_context *context, void *record);

/* Where a thread has its variable. */
struct context_place {
	/* 0: OFFSET counts from the thread pointer, CONTEXT_OFFSET_MAX at most. Else it counts from the block that the module of
	 * this number has in the thread, as the C library's vector tells. */
	size_t module;
	intptr_t offset;
	/* Of that vector: where the thread pointer has its address; the bytes of an entry; and where,
	 * from its beginning, the number of entries stands. */
	int16_t vector_at, entry_bytes, count_at;
};

#define CONTEXT_PLACES_MAX 4
#define CONTEXT_OFFSET_MAX (1 << 20)

/* Threads publish in these COUNT places from now on. The agent's thread. */
void thread_context_places(const struct context_place *places, size_t count);

#endif
