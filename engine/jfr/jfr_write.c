/* The encoder's chunks: begin, end, and references to constants. The events are in jfr_events.c. */
#include "core/memory/account.h"
#include "engine/jfr/jfr_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fd.h"
#include "engine/jfr/jfr_chunk.h"
#include "engine/jfr/jfr_encode.h"
#include "engine/jfr/jfr_metadata.h"

#define METADATA_MAX (64u << 10)

/* The header is big-endian. The fields after size are patched together with it. */
#define HEADER_BYTES   68
#define HEADER_SIZE_AT 8
#define VERSION        0x00020000u
#define FEATURES       1u           /* numbers are varints */
#define UNFINISHED     (1ull << 62) /* still positive after adding any offset */
#define NS_PER_SECOND  1000000000ull
#define EVENT_OVERHEAD (JFR_PADDED_LENGTH + 4 * JFR_VARINT_MAX)

static size_t stacks_max_bytes(void)
{
	return (size_t)memory_eighths(1, JFR_STACKS_MAX_BYTES);
}

int jfr_writer_open(struct jfr_writer **out, int fd, off_t base)
{
	struct jfr_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->metadata = (struct buf)BUF_INIT(METADATA_MAX);
	w->interned.base_id = JFR_FIRST_ID;
	w->interned.stacks.max = JFR_STACKS_MAX_BYTES;
	w->out.fd = fd;
	w->base = w->chunk_start = base;
	w->ticks_per_second = NS_PER_SECOND;
	err = jfr_metadata(&w->metadata);
	if (err) {
		jfr_writer_close(w);
		return err;
	}
	*out = w;
	return 0;
}

void jfr_writer_memory_only(struct jfr_writer *w, unsigned coarse, enum jfr_others others)
{
	w->timed_by_others = others != JFR_ALONE;
	w->coarse = coarse;
	w->interned.base_id = others == JFR_WITH_OTHER_ENGINE ? JFR_MEMORY_IDS : JFR_SMALL_IDS;
}

void jfr_writer_close(struct jfr_writer *w)
{
	if (!w)
		return;
	jfr_interned_free(&w->interned);
	buf_free(&w->metadata);
	free(w);
}

struct header {
	uint64_t size, pools_at, metadata_at, duration_ns;
};

/* Encode the known fields of the header, from the magic on. */
static void header_encode(const struct jfr_writer *w, const struct header *h,
			  uint8_t bytes[HEADER_BYTES])
{
	uint8_t *p = bytes;

	memcpy(p, "FLR", 4);
	p = jfr_put_be(p + 4, VERSION, 4);
	p = jfr_put_be(p, h->size, 8);
	p = jfr_put_be(p, h->pools_at, 8);
	p = jfr_put_be(p, h->metadata_at, 8);
	p = jfr_put_be(p, w->start_ns, 8);
	p = jfr_put_be(p, h->duration_ns, 8);
	p = jfr_put_be(p, jfr_file_time(w, w->start_ticks), 8);
	p = jfr_put_be(p, w->ticks_per_second >> w->coarse, 8);
	jfr_put_be(p, FEATURES, 4);
}

/* If the metadata event has the id of the previous chunk's, the JDK's readers keep its types, and
 * its clock too. A file may have chunks of several writers, processes and machines. So each chunk
 * has an id of its own, outside the ranges of the JDK (which counts from 1) and of async-profiler
 * (2^31-1). */
static uint32_t metadata_id(const struct jfr_writer *w)
{
	uint64_t hash = jfr_hash_step(jfr_hash_step(w->coarse, w->start_ns), w->start_ticks);

	return 0x40000000u | (jfr_hash_end(hash) & 0x0fffffffu);
}

static void write_metadata(struct jfr_writer *w)
{
	uint8_t head[EVENT_OVERHEAD], *p = head + JFR_PADDED_LENGTH;

	p = jfr_put_varint(p, JFR_T_METADATA);
	p = jfr_put_varint(p, jfr_file_time(w, w->start_ticks));
	p = jfr_put_varint(p, 0); /* duration */
	p = jfr_put_varint(p, metadata_id(w));
	jfr_put_padded(head, (size_t)(p - head) + w->metadata.length);
	jfr_out_bytes(&w->out, head, (size_t)(p - head));
	jfr_out_bytes(&w->out, w->metadata.data, w->metadata.length);
}

/* Drop the open chunk: truncate the file, so that a full disk gets its space back. */
static void chunk_drop(struct jfr_writer *w)
{
	int uncut;

	w->open = false;
	/* If the file cannot be truncated (a device), the unfinished header stays; readers
	 * recognize it. */
	uncut = ftruncate(w->out.fd, w->chunk_start);
	(void)uncut;
}

int jfr_chunk_begin(struct jfr_writer *w, uint64_t start_ns, uint64_t start_ticks)
{
	const struct header unfinished = { .size = UNFINISHED };
	uint8_t header[HEADER_BYTES];
	int err;

	if (w->open)
		return -EBUSY;
	w->start_ns = start_ns;
	w->start_ticks = start_ticks;
	w->dropped = 0;
	w->uses_reserve = false;
	w->context = 0;
	w->wait = (struct jfr_wait){ 0 };
	jfr_interned_reset(&w->interned);
	w->interned.stacks.max = stacks_max_bytes();
	jfr_out_seek(&w->out, w->chunk_start);

	header_encode(w, &unfinished, header);
	jfr_out_bytes(&w->out, header, sizeof(header));
	write_metadata(w);
	w->open = true;
	jfr_active_recording(w);
	/* Flushed immediately: errors are reported early, and a visible file always has its
	 * header. */
	err = jfr_out_flush(&w->out);
	if (err)
		chunk_drop(w);
	return err;
}

static uint64_t chunk_ticks_per_second(const struct jfr_writer *w, uint64_t end_ns,
				       uint64_t end_ticks)
{
	double measured;

	if (w->calibrated || end_ns <= w->start_ns || end_ticks <= w->start_ticks)
		return w->ticks_per_second;
	measured = (double)(end_ticks - w->start_ticks) * (double)NS_PER_SECOND /
		   (double)(end_ns - w->start_ns);
	/* The times of a chunk that another process has begun may be anything. */
	return measured >= 1 && measured < 0x1p63 ? (uint64_t)measured : w->ticks_per_second;
}

static void chunk_finish_header(struct jfr_writer *w, uint64_t end_ns, off_t pools, off_t end)
{
	const struct header finished = {
		.size = (uint64_t)(end - w->chunk_start),
		.pools_at = (uint64_t)(pools - w->chunk_start),
		.metadata_at = HEADER_BYTES,
		.duration_ns =
			end_ns > w->start_ns && !w->timed_by_others ? end_ns - w->start_ns : 0,
	};
	uint8_t header[HEADER_BYTES];

	header_encode(w, &finished, header);
	jfr_out_patch(&w->out, header + HEADER_SIZE_AT, sizeof(header) - HEADER_SIZE_AT,
		      w->chunk_start + HEADER_SIZE_AT);
}

void jfr_writer_calibrated(struct jfr_writer *w, uint64_t ticks_per_second)
{
	w->calibrated = ticks_per_second != 0;
	if (w->calibrated)
		w->ticks_per_second = ticks_per_second;
}

int jfr_chunk_end(struct jfr_writer *w, uint64_t end_ns, uint64_t end_ticks, jfr_namer *namer,
		  void *context, off_t *end)
{
	off_t pools, behind;
	int err;

	if (!w->open)
		return w->out.err ? w->out.err : -EINVAL;
	w->ticks_per_second = chunk_ticks_per_second(w, end_ns, end_ticks);
	err = jfr_out_flush(&w->out);
	if (err)
		goto out;
	pools = jfr_out_position(&w->out);
	err = jfr_interned_write(&w->interned, &w->out, jfr_file_time(w, w->start_ticks), namer,
				 context);
	if (err)
		goto out;
	behind = jfr_out_position(&w->out);
	chunk_finish_header(w, end_ns, pools, behind);
	err = w->out.err;
	if (err)
		goto out;
	w->open = false;
	w->chunk_start = behind;
	if (end)
		*end = behind;
out:
	if (err)
		chunk_drop(w);
	jfr_interned_reset(&w->interned);
	return err;
}

int jfr_writer_append(struct jfr_writer *w, struct jfr_writer *from, off_t *end)
{
	const off_t length = from->chunk_start - from->base;
	off_t done = 0;
	size_t part;
	int err = 0;

	if (w->open || from->open)
		return -EBUSY;
	while (!err && done < length) {
		part = sizeof(w->out.data);
		if (length - done < (off_t)part)
			part = (size_t)(length - done);
		/* No chunk is open, so the buffer is free. */
		err = fd_read(from->out.fd, w->out.data, part, from->base + done);
		if (!err)
			err = fd_write(w->out.fd, w->out.data, part, w->chunk_start + done);
		done += (off_t)part;
	}
	if (err) {
		chunk_drop(w);
		return err;
	}
	w->chunk_start += length;
	from->chunk_start = from->base;
	chunk_drop(from); /* its contents are not needed any more */
	if (end)
		*end = w->chunk_start;
	return 0;
}

uint64_t jfr_chunk_bytes(const struct jfr_writer *w)
{
	return w->open ? (uint64_t)(jfr_out_position(&w->out) - w->chunk_start) : 0;
}

uint32_t jfr_stack(struct jfr_writer *w, const uintptr_t *pcs, size_t count, bool truncated)
{
	return w->interned.first_stack_id +
	       jfr_stacks_intern(&w->interned.stacks, pcs, count, truncated);
}

bool jfr_stacks_are_crowded(const struct jfr_writer *w)
{
	return w->open && w->interned.stacks.used > stacks_max_bytes() / 4 * 3;
}

void jfr_use_stack_reserve(struct jfr_writer *w)
{
	w->interned.stacks.max = (size_t)memory_eighths(3, JFR_RESERVED_STACKS_MAX_BYTES);
	w->events_full = w->interned.stacks.full;
	w->uses_reserve = true;
}

uint32_t jfr_context(struct jfr_writer *w, const struct jfr_context *context)
{
	return jfr_interned_row_id(&w->interned,
				   jfr_contexts_intern(&w->interned.contexts, context));
}

void jfr_use_context(struct jfr_writer *w, uint32_t id)
{
	w->context = id;
}

uint32_t jfr_wait_description(struct jfr_writer *w, const char *lines, size_t length)
{
	const struct jfr_context description = { .labels = lines, .length = length };

	return jfr_interned_row_id(&w->interned,
				   jfr_contexts_intern(&w->interned.waits, &description));
}

void jfr_use_wait(struct jfr_writer *w, const struct jfr_wait *wait)
{
	w->wait = *wait;
}

void jfr_thread(struct jfr_writer *w, pid_t tid, const char *name)
{
	jfr_threads_name(&w->interned.threads, tid, name);
}

bool jfr_thread_named(const struct jfr_writer *w, pid_t tid)
{
	return jfr_threads_named(&w->interned.threads, tid);
}

void jfr_forget_threads(struct jfr_writer *w)
{
	jfr_threads_reset(&w->interned.threads);
}

uint32_t jfr_user_event_type(struct jfr_writer *w, const char *name)
{
	struct jfr_interned *interned = &w->interned;
	uint32_t i;

	for (i = 0; i < interned->user_type_count; i++)
		if (!strcmp(interned->user_types[i], name))
			return i + 1;
	if (i == JFR_USER_TYPES_MAX)
		return 0;
	interned->user_types[i] = strdup(name);
	if (!interned->user_types[i])
		return 0;
	return ++interned->user_type_count;
}
