/* Reading JFR 2.x, by any writer: a recording is a row of chunks, and each chunk brings its own
 * types, constants and clock. Types are found by name, fields by the chunk's own description of
 * them, never by position. Events are streamed; constants are found by an index of where they
 * stand and looked at when they are needed.
 *
 * Everything here works on bytes in memory (a mapped file), trusts none of them, and belongs to
 * one thread; different chunks may be read by different threads. */
#ifndef PROFILE_JFR_JFR_READ_H
#define PROFILE_JFR_JFR_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "profile/jfr/jfr_cursor.h"

/* What was wrong, and where: OFFSET counts from the start of the file. */
struct jfr_error {
	uint64_t offset;
	const char *what; /* a constant string; NULL while all is well */
};

/* The events that the commands know; others are counted by `summary` and passed over. */
enum jfr_kind {
	JFR_OTHER,
	JFR_EXECUTION_SAMPLE, /* also jdk.NativeMethodSample, jdk.CPUTimeSample */
	JFR_WALL_SAMPLE,
	JFR_MALLOC,
	JFR_FREE,
	JFR_OBJECT, /* an allocation of a Java object */
	JFR_LIVE_OBJECT,
	JFR_LOCK,
	JFR_USER_EVENT,
	JFR_SETTING,
	JFR_LIBRARY,
	JFR_RETAINED, /* asprof.RetainedHeap */
	JFR_LOSSES,   /* asprof.Losses */
	JFR_KINDS,
};

#define JFR_MASK(kind) (1u << (kind))

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

/* Read the header at OFFSET of DATA. Returns 0; -ENODATA at the end of the file; -EBADMSG with
 * ERROR set where there is no whole chunk. A chunk that is not finished, or is cut off, is told by
 * `error->what`. */
int jfr_header(struct jfr_header *header, const uint8_t *data, uint64_t length, uint64_t offset,
	       struct jfr_error *error);

/* Read types and index constants of the chunk that HEADER found in the file mapped at FILE.
 * Returns 0 (release with jfr_chunk_close), -ENOMEM, or -EBADMSG with chunk->error set. */
int jfr_chunk_open(struct jfr_chunk *chunk, const uint8_t *file, const struct jfr_header *header);
void jfr_chunk_close(struct jfr_chunk *chunk);

/* The type of that name, or NULL. */
struct jfr_type *jfr_type(const struct jfr_chunk *chunk, const char *name);
struct jfr_type *jfr_type_by_id(const struct jfr_chunk *chunk, uint64_t id);

struct jfr_event {
	const struct jfr_type *type; /* NULL for an event whose type the chunk does not describe */
	enum jfr_kind kind;
	uint64_t offset; /* in the file */
	uint32_t size;
	const uint8_t *body, *end;
	int64_t slot[JFR_SLOTS];
};

struct jfr_scan {
	struct jfr_chunk *chunk;
	const uint8_t *at, *end;
	uint32_t kinds;
	bool times_only;               /* no slot behind JFR_TIME is wanted */
	const uint8_t *kept;           /* pages before this have been let go of */
	const struct jfr_type *filled; /* the type that the last event's slots were filled by */
	const struct jfr_event *last;
};

/* Start over the events of the chunk whose kinds are in the mask KINDS. */
void jfr_scan(struct jfr_scan *scan, struct jfr_chunk *chunk, uint32_t kinds);

/* The next event, or false at the end, or at damage, which chunk->error then tells. */
bool jfr_next(struct jfr_scan *scan, struct jfr_event *event);

/* A value: a struct or a primitive of TYPE at AT. */
struct jfr_value {
	const struct jfr_type *type;
	const uint8_t *at, *end;
};

/* Field NAME of VALUE (or of the event), constants resolved. False where it is missing, NULL or
 * damaged. An array yields its first byte, the count: see jfr_array(). */
bool jfr_get(const struct jfr_chunk *chunk, const struct jfr_value *value, const char *name,
	     struct jfr_value *out);
bool jfr_event_get(const struct jfr_chunk *chunk, const struct jfr_event *event, const char *name,
		   struct jfr_value *out);

/* The constant KEY of TYPE. */
bool jfr_constant(const struct jfr_chunk *chunk, const struct jfr_type *type, uint64_t key,
		  struct jfr_value *out);
struct jfr_constant *jfr_pool_find(const struct jfr_pool *pool, uint64_t key);

/* An integer; 0 where VALUE is none. */
int64_t jfr_long(const struct jfr_value *value);

/* Append a string, or the string that is VALUE's first field, as UTF-8. False where it is null or
 * none. */
bool jfr_string(const struct jfr_chunk *chunk, const struct jfr_value *value, struct buf *out);

/* Pass over a value of TYPE, or of FIELD. */
void jfr_skip(struct cursor *c, const struct jfr_type *type);
void jfr_skip_field(struct cursor *c, const struct jfr_field *field);

#endif
