/* JFR 2.x reader: chunk headers and events. */
#include "profile/jfr/jfr_read.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/jfr/jfr_meta.h"

static int jfr_header_fail(struct jfr_error *error, uint64_t offset, const char *what)
{
	error->offset = offset;
	error->what = what;
	return -EBADMSG;
}

static int64_t limit(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

int jfr_header_read(struct jfr_header *header, const uint8_t *data, uint64_t length,
		    uint64_t offset, struct jfr_error *error)
{
	uint64_t left = length - offset;
	const uint8_t *p;

	if (!left)
		return -ENODATA;
	p = data + offset;
	if (left >= 4 && memcmp(p, "FLR", 4))
		return jfr_header_fail(error, offset, "no JFR chunk starts here");
	if (left < JFR_HEADER_SIZE)
		return jfr_header_fail(error, offset, "cut off in a chunk header");
	*header = (struct jfr_header){
		.offset = offset,
		.size = load_be64(p + 8),
		.constants = load_be64(p + 16),
		.metadata = load_be64(p + 24),
		.start_ns = (int64_t)load_be64(p + 32),
		.duration_ns = (int64_t)load_be64(p + 40),
		.start_ticks = (int64_t)load_be64(p + 48),
		.ticks_per_second = (int64_t)load_be64(p + 56),
		.major = (uint16_t)(p[4] << 8 | p[5]),
		.minor = (uint16_t)(p[6] << 8 | p[7]),
	};
	if (header->major != 2)
		return jfr_header_fail(error, offset + 4, "not version 2 of the format");
	if (!(load_be32(p + 64) & 1))
		return jfr_header_fail(error, offset + 64, "integers are not compressed");
	if (!header->metadata || !header->constants)
		return jfr_header_fail(error, offset, "an unfinished chunk");
	if (header->size > left)
		return jfr_header_fail(error, offset, "a chunk that is cut off");
	if (header->size < JFR_HEADER_SIZE || header->metadata >= header->size ||
	    header->constants >= header->size || header->metadata < JFR_HEADER_SIZE ||
	    header->constants < JFR_HEADER_SIZE || header->size > UINT32_MAX)
		return jfr_header_fail(error, offset + 8, "a chunk header with invalid sizes");
	header->start_ns = limit(header->start_ns, 0, JFR_START_NS_MAX);
	header->duration_ns = limit(header->duration_ns, -JFR_DURATION_NS_MAX, JFR_DURATION_NS_MAX);
	if (header->ticks_per_second <= 0)
		return jfr_header_fail(error, offset + 56, "a clock with an invalid frequency");
	return 0;
}

int jfr_chunk_open(struct jfr_chunk *chunk, const uint8_t *file, const struct jfr_header *header)
{
	int err;

	*chunk = (struct jfr_chunk){ .header = *header, .data = file + header->offset };
	err = jfr_meta_read(chunk);
	if (!err)
		err = jfr_pools_read(chunk);
	if (err) {
		struct jfr_error error = chunk->error;

		jfr_chunk_close(chunk);
		chunk->error = error;
	}
	return err;
}

void jfr_chunk_close(struct jfr_chunk *chunk)
{
	jfr_pools_free(chunk);
	jfr_meta_free(chunk);
}

void jfr_scan_start(struct jfr_scan *scan, struct jfr_chunk *chunk, uint32_t kinds)
{
	*scan = (struct jfr_scan){
		.chunk = chunk,
		.at = chunk->data + JFR_HEADER_SIZE,
		.end = chunk->data + chunk->header.size,
		.kinds = kinds,
		.released = chunk->data,
	};
}

/* Fill the slots by the type's plan. Returns false if the event is too short. */
static bool event_read_slots(struct jfr_event *event, bool times_only)
{
	struct cursor c = { event->body, event->end, false };
	const struct jfr_step *step = event->type->plan;
	const struct jfr_step *end = step + event->type->plan_length;

	for (; step < end; step++) {
		for (unsigned i = step->skip; i; i--)
			cursor_skip_varint(&c);
		if (step->slot >= 0)
			event->slot[step->slot] = (int64_t)cursor_varint(&c);
		else
			jfr_skip_field(&c, step->field);
		if (times_only && step->slot == JFR_TIME)
			break;
	}
	return !c.bad;
}

/* The same for events of integers only, if their maximum size fits before the end of the chunk: the
 * end of the event is checked once, after the reads. */
static bool event_read_integer_slots(struct jfr_event *event, bool times_only)
{
	const struct jfr_step *step = event->type->plan;
	const struct jfr_step *end = step + event->type->plan_length;
	const uint8_t *p = event->body;
	uint64_t value;

	for (; step < end; step++) {
		for (unsigned i = step->skip; i; i--)
			p = varint_decode_unchecked(p, &value);
		p = varint_decode_unchecked(p, &value);
		event->slot[step->slot] = (int64_t)value;
		if (times_only && step->slot == JFR_TIME)
			break;
	}
	return p <= event->end;
}

/* Clear the slots that an event of TYPE has set, which is faster than clearing all. */
static void event_clear_slots(const struct jfr_type *type, struct jfr_event *event)
{
	for (size_t i = 0; i < type->plan_length; i++)
		if (type->plan[i].slot >= 0)
			event->slot[type->plan[i].slot] = 0;
}

static bool scan_fill_slots(struct jfr_scan *scan, struct jfr_event *event)
{
	if (scan->filled_event != event)
		memset(event->slot, 0, sizeof(event->slot));
	else if (scan->filled_type != event->type) /* the same type overwrites the same slots */
		event_clear_slots(scan->filled_type, event);
	scan->filled_type = event->type;
	scan->filled_event = event;
	if (event->type->plan_bytes && (uint64_t)(scan->chunk->data + scan->chunk->header.size -
						  event->body) >= event->type->plan_bytes)
		return event_read_integer_slots(event, scan->times_only);
	return event_read_slots(event, scan->times_only);
}

/* Release pages after so many bytes, so that a large file does not become resident completely. */
#define RELEASE_BYTES (4u << 20)

void jfr_release_pages(const uint8_t *data, uint64_t from, uint64_t end)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)data + from + page - 1) & -page;
	uintptr_t last = ((uintptr_t)data + end) & -page;

	if (last > first)
		madvise((void *)first, last - first, MADV_DONTNEED);
}

static void scan_release_pages(struct jfr_scan *scan)
{
	const uint8_t *data = scan->chunk->data;

	if (scan->chunk->is_mapped_file)
		jfr_release_pages(data, (uint64_t)(scan->released - data),
				  (uint64_t)(scan->at - data));
	scan->released = scan->at;
}

static inline struct jfr_type *chunk_type_by_id(const struct jfr_chunk *chunk, uint64_t id)
{
	if (id < JFR_SMALL_ID && chunk->by_id[id])
		return &chunk->types[chunk->by_id[id] - 1];
	return jfr_type_by_id(chunk, id);
}

bool jfr_scan_next(struct jfr_scan *scan, struct jfr_event *event)
{
	struct jfr_chunk *chunk = scan->chunk;

	while (scan->at < scan->end) {
		if (scan->at - scan->released > RELEASE_BYTES)
			scan_release_pages(scan);
		const uint8_t *at = scan->at;
		struct cursor c = { at, scan->end, false };
		uint64_t size = cursor_varint(&c), id = cursor_varint(&c);
		enum jfr_kind kind;

		if (c.bad || size > (uint64_t)(scan->end - at) || at + size < c.at) {
			jfr_set_error(chunk, at, "an event with an invalid size");
			return false;
		}
		scan->at = at + size;
		event->type = chunk_type_by_id(chunk, id);
		kind = event->type ? event->type->kind : JFR_OTHER;
		if (!(scan->kinds & JFR_MASK(kind)))
			continue;
		event->kind = kind;
		event->offset = chunk->header.offset + (uint64_t)(at - chunk->data);
		event->size = (uint32_t)size;
		event->body = c.at;
		event->end = at + size;
		if (event->type && !scan_fill_slots(scan, event)) {
			jfr_set_error(chunk, at, "a damaged event");
			return false;
		}
		return true;
	}
	return false;
}
