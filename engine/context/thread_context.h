/* Context of the calling thread for its samples, from three sources:
 *
 * * the OpenTelemetry context of the thread, if the program publishes one (OTEP 4947: a
 *   thread-local variable `otel_thread_ctx_v1`, in any module, which points to a record)
 * * the labels from asprof_agent_label()
 * * the labels of its goroutine (engine/runtime/go/go_labels.h)
 *
 * In a program without any, the cost is three loads per sample. */
#ifndef ENGINE_CONTEXT_THREAD_CONTEXT_H
#define ENGINE_CONTEXT_THREAD_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/context/thread_labels.h"

/* Follows a sample's stack, padded to words of 8 bytes. */
struct context_record {
	uint8_t trace_id[16], span_id[8];
	uint16_t labels, attributes; /* bytes of each */
	/* First LABELS, each "key", NUL, "value", NUL. Then ATTRIBUTES in the format of OTEP 4947:
	 * the number of a key, a length, and so many bytes. */
	uint8_t bytes[];
};

/* Maximum size of the attributes; OTEP 4947 recommends 640 bytes for a whole record. */
#define CONTEXT_ATTRIBUTES_MAX 612

#define CONTEXT_BYTES_MAX \
	(sizeof(struct context_record) + THREAD_LABELS_MAX + CONTEXT_ATTRIBUTES_MAX)

_Static_assert(CONTEXT_BYTES_MAX / 8 < UINT8_MAX, "its length fits a byte, in words");

/* The record of OTEP 4947; the attributes follow. */
struct otel_record {
	uint8_t trace_id[16], span_id[8];
	uint8_t valid; /* 1 */
	uint8_t flags;
	uint16_t attributes;
};

/* The context that was read, until it is written to a sample. */
struct thread_context {
	uint8_t trace_id[16], span_id[8];
	const char *labels;
	uintptr_t attributes;
	uint16_t labels_size, go_labels_size, attributes_size;
	/* READ bytes of the record. One system call copies a whole block at the cost of a word. */
	uint16_t read;
	_Alignas(8) uint8_t bytes[128];
};

/* Read the calling thread's context. Returns the size that thread_context_write() needs, a multiple
 * of 8; 0 if there is no context. Both functions are async-signal-safe. The thread must not run
 * code of its own between the two calls. */
size_t thread_context_read(struct thread_context *context);

/* Write CONTEXT to RECORD, which is zeroed. */
void thread_context_write(const struct thread_context *context, void *record);

/* True if threads of this program may have a context now or later: one has set a label, a sample had labels of a
 * goroutine, or there is a place. */
bool thread_context_may_exist(void);

/* The place of a thread-local variable. */
struct context_place {
	/* 0: OFFSET is relative to the thread pointer, at most CONTEXT_OFFSET_MAX. Otherwise: the
	 * module's number; OFFSET is relative to the thread's block of that module, which is in the
	 * C library's vector. */
	size_t module;
	intptr_t offset;
	/* Layout of the vector: the offset of its address from the thread pointer; the size of an
	 * entry; and the offset of the number of entries from the start of the vector. */
	int16_t vector_at, entry_bytes, count_at;
};

#define CONTEXT_PLACES_MAX 4
#define CONTEXT_OFFSET_MAX (1 << 20)

/* Set the COUNT places in which threads publish their context. The agent's thread. */
void thread_context_places(const struct context_place *places, size_t count);

#endif
