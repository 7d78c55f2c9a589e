/* An open chunk of a recording (header, types, index of constants) and one event of it. */
#ifndef PROFILE_JFR_JFR_PARSED_H
#define PROFILE_JFR_JFR_PARSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/jfr/jfr_types.h"

/* First damage found. */
struct jfr_error {
	uint64_t offset;  /* from the start of the file */
	const char *what; /* a constant string; NULL: no error */
};

/* Integer fields that are found by name in any event type. A slot is 0 if the event has no such
 * field. */
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
	JFR_WAIT,        /* key of a constant */
	JFR_OWNER_STACK, /* ownerStackTrace: key of a constant */
	JFR_OWNER_DELAY, /* ownerDelay, in nanoseconds */
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
	bool is_constant; /* the value is a key into the type's constant pool */
	bool is_array;
};

/* Entry of a constant pool's index. */
struct jfr_constant {
	uint64_t key;
	uint32_t at;   /* offset of the value in the chunk; 0: free entry */
	uint32_t memo; /* result cached by profile/aggregate/resolve.h; initially 0 */
};

/* Constant pool of one type: a hash table by key. */
struct jfr_pool {
	struct jfr_constant *table;
	size_t count, capacity;
};

#define JFR_PLAN_MAX 24

/* Type IDs below this are looked up in by_id. */
#define JFR_SMALL_ID 8192

/* One step of a plan, which fills the slots of an event in one pass. */
struct jfr_step {
	uint8_t skip; /* integers to skip first */
	int8_t slot;  /* then the slot to fill; -1: skip `field` */
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
	unsigned plan_bytes; /* maximum that an all-integer plan reads; 0: not all integers */
};

/* Position and header of a chunk. Nothing is allocated. */
struct jfr_header {
	uint64_t offset, size;         /* in the file */
	uint64_t constants, metadata;  /* offsets in the chunk */
	int64_t start_ns, duration_ns; /* start since 1970 */
	int64_t start_ticks, ticks_per_second;
	uint16_t major, minor;
};

struct jfr_chunk {
	struct jfr_header header;
	const uint8_t *data; /* the chunk's first byte */
	struct jfr_type *types;
	size_t type_count;
	uint16_t *by_id;     /* index in types + 1, for small type IDs */
	uint32_t constants;  /* number indexed so far */
	void *arena;         /* strings of the metadata */
	bool is_mapped_file; /* set by the caller if pages already read may be released */
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

/* Return the type, or NULL if the chunk does not describe it. */
struct jfr_type *jfr_type_by_name(const struct jfr_chunk *chunk, const char *name);
struct jfr_type *jfr_type_by_id(const struct jfr_chunk *chunk, uint64_t id);

/* Returns the index entry of the constant with KEY, or NULL. */
struct jfr_constant *jfr_pool_find(const struct jfr_pool *pool, uint64_t key);

/* Returns the index of KEY in pool->table, or of the free entry for it. The table must not be
 * empty. */
size_t jfr_pool_slot(const struct jfr_pool *pool, uint64_t key);

#endif
