/* Several chunks of one run of async-profiler made one. */
#include "core/agent/chunk_join.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/fd.h"
#include "engine/jfr/jfr_encode.h"
#include "profile/jfr/jfr_cursor.h"
#include "profile/jfr/jfr_read.h"

/* One that is not whole any more after a power cut is lost: no more than this. */
#define JOINED_NS  5000000000u
#define JOINED_MAX (4u << 20)

/* A larger one is copied by the kernel. */
#define CHUNK_MAX (256u << 10)

#define NS 1000000000u

/* Types of events that are the same in each recording. */
enum { METADATA, CONSTANTS };

/* What a header has behind its version. */
struct front {
	uint64_t size, constants, metadata;
	uint64_t start_ns, duration_ns, start_ticks, frequency; /* of ticks, a second */
};

#define FRONT_AT 8

/* How far back the constants before these are: a negative number, which takes as many bytes as any can. */
#define STEP_BYTES JFR_VARINT_MAX

#define SIZE_BYTES JFR_PADDED_LENGTH

/* At most: two compressed integers. */
#define TIMES_BYTES 18

/* What a single byte counts. */
#define POOLS_MAX 127

/* A chunk in memory, and where its parts are. */
struct chunk {
	const uint8_t *data;
	struct front front;
	const uint8_t *metadata, *types, *events, *constants;
	const uint8_t *ticks, *step; /* in the event of the constants */
	const uint8_t *end;
};

static bool find_metadata(struct chunk *c)
{
	struct cursor at = { c->data + c->front.metadata, c->end, false };
	uint64_t size = cursor_varint(&at);

	c->metadata = c->data + c->front.metadata;
	if (cursor_varint(&at) != METADATA)
		return false;
	cursor_skip_varint(&at);
	c->types = at.at;
	if (at.bad || size > (uint64_t)(c->end - c->metadata))
		return false;
	c->events = c->metadata + size;
	return c->types <= c->events;
}

static bool find_constants(struct chunk *c)
{
	struct cursor at = { c->data + c->front.constants, c->end, false };
	uint64_t size = cursor_varint(&at), type = cursor_varint(&at);

	c->constants = c->data + c->front.constants;
	c->ticks = at.at;
	cursor_skip_varint(&at);
	cursor_skip_varint(&at);
	c->step = at.at;
	return cursor_left(&at) >= 3 && *at.at == 0 && !at.bad && type == CONSTANTS &&
	       size == (uint64_t)(c->end - c->constants);
}

/* Is it in async-profiler's order? */
static bool find_parts(struct chunk *c, const uint8_t *data, uint64_t size)
{
	uint64_t *fields = (uint64_t *)&c->front;

	memcpy(&c->front, data + FRONT_AT, sizeof(c->front));
	for (size_t i = 0; i < sizeof(c->front) / sizeof(*fields); i++)
		fields[i] = be64toh(fields[i]);
	c->data = data;
	c->end = data + size;
	return c->front.metadata == JFR_HEADER_SIZE && c->front.constants > JFR_HEADER_SIZE &&
	       c->front.constants < size && c->front.frequency && find_metadata(c) &&
	       find_constants(c) && c->events <= c->constants;
}

static bool is_alone(const struct jfr_type *type)
{
	for (size_t i = 0; i < type->field_count; i++)
		if (type->fields[i].constant &&
		    !strcmp(type->fields[i].type->name, "java.lang.String"))
			return true;
	return false;
}

/* Strings are numbered anew in each chunk. */
static void find_alone(struct chunk_join *join)
{
	const struct jfr_chunk *types = &join->left.types;

	memset(join->alone, 0, sizeof(join->alone));
	for (size_t i = 0; i < types->type_count; i++) {
		int64_t id = types->types[i].id;

		if (id >= 0 && id < (int64_t)sizeof(join->alone) * 8 && is_alone(&types->types[i]))
			join->alone[id / 8] |= (uint8_t)(1u << id % 8);
	}
}

static bool can_be_joined(const struct chunk_join *join, const struct chunk *c)
{
	struct cursor at = { c->events, c->constants, false };

	while (at.at < at.end) {
		const uint8_t *event = at.at;
		uint64_t size = cursor_varint(&at), type = cursor_varint(&at);

		if (at.bad || type <= CONSTANTS || type >= sizeof(join->alone) * 8 ||
		    join->alone[type / 8] >> type % 8 & 1 || size < (uint64_t)(at.at - event) ||
		    size > (uint64_t)(at.end - event))
			return false;
		at.at = event + size;
	}
	return true;
}

/* Whether types are described as they were, whenever that was. */
static bool has_same_types(const struct chunk_join *join, const struct chunk *c)
{
	uint64_t length = (uint64_t)(c->events - c->types);

	return length == join->types_length &&
	       !memcmp(c->types, join->left.metadata + join->left.types.header.size - length,
		       length);
}

static bool belongs(const struct chunk_join *join, const struct chunk *c)
{
	return join->open && c->front.start_ns >= join->start_ns &&
	       c->front.start_ns - join->start_ns < JOINED_NS &&
	       c->front.start_ticks >= join->start_ticks &&
	       join->size + c->front.size <= JOINED_MAX && has_same_types(join, c) &&
	       can_be_joined(join, c);
}

/* Where the pools are counted: behind the step, and a byte of flags. */
static const uint8_t *pools(const struct chunk *c)
{
	return c->step + 2;
}

/* CHUNK, which stands at AT, is the one that more is added to. */
static void begin(struct chunk_join *join, const struct chunk *c, off_t at)
{
	struct buf constants = BUF_INIT(CHUNK_MAX);
	unsigned count = 0;

	if (!new_constants_begin(&join->left, c->metadata, (uint64_t)(c->events - c->metadata)) &&
	    !new_constants_take(&join->left, pools(c), c->end, &constants, &count)) {
		find_alone(join);
		join->open = can_be_joined(join, c);
	}
	buf_free(&constants);
	join->types_length = (uint64_t)(c->events - c->types);
	join->at = at;
	join->size = c->front.size;
	join->constants = c->front.constants;
	join->start_ns = c->front.start_ns;
	join->start_ticks = c->front.start_ticks;
	join->frequency = c->front.frequency;
}

/* Make of C what is added to the chunk there: the events, and the constants that are new, if any, with where those before
 * them are. *CONSTANTS is where the last ones are then. Returns 0 or -errno. */
static int make_addition(struct chunk_join *join, const struct chunk *c, struct buf *added,
			 uint64_t *constants)
{
	uint64_t head = (uint64_t)(c->step - c->ticks),
		 at = join->size + (uint64_t)(c->constants - c->events);
	uint8_t front[SIZE_BYTES + 1 + TIMES_BYTES + STEP_BYTES + 2];
	struct buf left = BUF_INIT(CHUNK_MAX);
	uint64_t length = SIZE_BYTES + 1 + head + STEP_BYTES + 2;
	unsigned count = 0;
	int err = head > TIMES_BYTES ? -EBADMSG : 0;

	if (!err)
		err = new_constants_take(&join->left, pools(c), c->end, &left, &count);
	if (!err && count > POOLS_MAX)
		err = -EBADMSG;
	if (!err)
		err = buf_append(added, c->events, (size_t)(c->constants - c->events));
	*constants = count ? at : join->constants;
	if (!err && count) {
		jfr_put_padded(front, length + left.length);
		front[SIZE_BYTES] = CONSTANTS;
		memcpy(front + SIZE_BYTES + 1, c->ticks, head);
		jfr_put_varint(front + SIZE_BYTES + 1 + head, join->constants - at);
		front[length - 2] = c->step[1];
		front[length - 1] = (uint8_t)count;
		err = buf_append(added, front, length);
	}
	if (!err && count)
		err = buf_append(added, left.data, left.length);
	buf_free(&left);
	return err;
}

/* As fast as the clock was from the first one's start to this one's end, where they do not agree. */
static uint64_t joined_frequency(const struct chunk_join *join, const struct front *front,
				 uint64_t duration_ns)
{
	unsigned __int128 ticks = (unsigned __int128)front->duration_ns * front->frequency / NS +
				  (front->start_ticks - join->start_ticks);

	if (front->frequency == join->frequency || !duration_ns)
		return join->frequency;
	return (uint64_t)(ticks * NS / duration_ns);
}

static int join_to(struct chunk_join *join, int out, const struct chunk *c, const struct buf *added,
		   uint64_t constants)
{
	uint64_t duration_ns = c->front.start_ns - join->start_ns + c->front.duration_ns;
	uint64_t frequency = joined_frequency(join, &c->front, duration_ns);
	struct front front = { .size = htobe64(join->size + added->length),
			       .constants = htobe64(constants),
			       .metadata = htobe64(JFR_HEADER_SIZE),
			       .start_ns = htobe64(join->start_ns),
			       .duration_ns = htobe64(duration_ns),
			       .start_ticks = htobe64(join->start_ticks),
			       .frequency = htobe64(frequency) };
	int err = fd_write(out, added->data, added->length, -1);

	if (!err)
		err = fd_write(out, &front, sizeof(front), join->at + FRONT_AT);
	join->size += added->length;
	join->constants = constants;
	join->frequency = frequency;
	return err;
}

/* The chunk in memory, to be freed, where it may be joined to another; NULL where it may not. */
static uint8_t *load(struct chunk *c, int in, off_t offset, uint64_t size)
{
	uint8_t *data = size < JFR_HEADER_SIZE || size > CHUNK_MAX ? NULL : malloc(size);

	if (data && !fd_read(in, data, size, offset) && find_parts(c, data, size))
		return data;
	free(data);
	return NULL;
}

int chunk_join_add(struct chunk_join *join, int out, off_t *end, int in, off_t offset,
		   uint64_t size)
{
	struct buf added = BUF_INIT(2 * CHUNK_MAX);
	struct chunk chunk;
	uint8_t *data = load(&chunk, in, offset, size);
	uint64_t constants;
	int err;

	if (data && belongs(join, &chunk) && !make_addition(join, &chunk, &added, &constants)) {
		size = added.length;
		err = join_to(join, out, &chunk, &added, constants);
	} else {
		chunk_join_end(join);
		err = fd_copy(out, in, offset, size);
		if (!err && data)
			begin(join, &chunk, *end);
	}
	if (err)
		chunk_join_end(join);
	else
		*end += (off_t)size;
	buf_free(&added);
	free(data);
	return err;
}

void chunk_join_end(struct chunk_join *join)
{
	new_constants_end(&join->left);
	join->open = false;
}
