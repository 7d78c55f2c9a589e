/* What is known of a chunk of a recording once it is open: its header, its types, where its
 * constants stand; and one event of it. */
#ifndef PROFILE_JFR_JFR_PARSED_H
#define PROFILE_JFR_JFR_PARSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/jfr/jfr_types.h"

/* What was wrong, and where: OFFSET counts from the start of the file. */
struct jfr_error {
	uint64_t offset;
	const char *what; /* a constant string; NULL while all is well */
};

/* Integer fields, read by name from whichever event has them; 0 where it has not. */
enum jfr_slot {
	JFR_TIME,   /* startTime, in ticks */
	JFR_THREAD, /* eventThread or sampledThread: key of a constant */
	JFR_STACK,  /* stackTrace: key of a constant */
	JFR_STATE,
	JFR_SAMPLES,
	JFR_DURATION,
	JFR_SPAN, /* timeSpan, in ticks */
	JFR_ADDRESS,
	JFR_SIZE, /* size or allocationSize */
	JFR_TLAB,
	JFR_WEIGHT,
	JFR_CLASS, /* objectClass, monitorClass or parkedClass: key of a constant */
	JFR_BIRTH, /* birth or allocationTime, in ticks */
	JFR_COUNT,
	JFR_BYTES,
	JFR_OLDEST,
	JFR_TOTAL_COUNT, /* allocatedCount */
	JFR_TOTAL_BYTES, /* allocatedBytes */
	JFR_CONTEXT,     /* key of a constant */
	JFR_TYPE,
	JFR_BASE,
	JFR_TOP,
	JFR_SLOTS,
};

enum jfr_shape { JFR_STRUCT, JFR_VARINT, JFR_BYTE, JFR_FLOAT, JFR_DOUBLE, JFR_STRING };

struct jfr_type;

struct jfr_field {
	const char *name;
	struct jfr_type *type; /* never NULL once a chunk is open */
	int64_t type_id;
	bool constant; /* holds a key into the type's constants */
	bool array;
};

/* Where the constants of one type stand: a hash table of their keys. */
struct jfr_constant {
	uint64_t key;
	uint32_t at;   /* offset in the chunk; 0: the place is free */
	uint32_t memo; /* for whoever resolves them; 0 at first */
};

struct jfr_pool {
	struct jfr_constant *table;
	size_t count, capacity;
};

#define JFR_PLAN_MAX 24

/* The largest type id that has a place in by_id. */
#define JFR_SMALL_ID 8192

/* How the wanted fields of an event are picked out in one walk. */
struct jfr_step {
	uint8_t skip; /* integers to pass over first */
	int8_t slot;  /* then the slot to fill; -1: pass over FIELD */
	const struct jfr_field *field;
};

struct jfr_type {
	int64_t id;
	const char *name;
	enum jfr_shape shape;
	enum jfr_kind kind;
	struct jfr_field *fields;
	size_t field_count;
	struct jfr_pool pool;
	struct jfr_step plan[JFR_PLAN_MAX];
	size_t plan_length;
	unsigned plan_bytes; /* the most that an all-integer plan reads; 0: not all integers */
};

/* Where a chunk lies and what its header says. Nothing is allocated. */
struct jfr_header {
	uint64_t offset, size; /* in the file */
	uint64_t constants, metadata;
	int64_t start_ns, duration_ns; /* since 1970 */
	int64_t start_ticks, ticks_per_second;
	uint16_t major, minor;
};

struct jfr_chunk {
	struct jfr_header header;
	const uint8_t *data; /* the chunk's first byte */
	struct jfr_type *types;
	size_t type_count;
	uint16_t *by_id;    /* type number + 1 for small ids */
	uint32_t constants; /* met so far */
	void *arena;        /* strings and fields of the metadata */
	bool mapped;        /* set it where pages that were read may be let go of */
	struct jfr_error error;
};

struct jfr_event {
	const struct jfr_type *type; /* NULL for an event whose type the chunk does not describe */
	enum jfr_kind kind;
	uint64_t offset; /* in the file */
	uint32_t size;
	const uint8_t *body, *end;
	int64_t slot[JFR_SLOTS];
};

/* The type of that name, or NULL. */
struct jfr_type *jfr_type(const struct jfr_chunk *chunk, const char *name);
struct jfr_type *jfr_type_by_id(const struct jfr_chunk *chunk, uint64_t id);

/* Where the constant with KEY stands, or NULL. */
struct jfr_constant *jfr_pool_find(const struct jfr_pool *pool, uint64_t key);

/* Its place in the table, or the free one where it would go; the table is not empty. */
size_t jfr_pool_slot(const struct jfr_pool *pool, uint64_t key);

#endif
