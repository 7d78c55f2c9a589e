/* Types of the agent's recordings, with their fields and constants, as tables. The encoder writes
 * its metadata from them; the reader uses them to interpret events.
 *
 * Names, order and numbers are those of async-profiler 4.5, because some readers depend on
 * positions. Fields that only the agent writes are at the end of their type. */
#ifndef ENGINE_JFR_JFR_TYPES_H
#define ENGINE_JFR_JFR_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jfr_type_id {
	JFR_T_METADATA = 0, /* the two events that every JFR reader knows without metadata */
	JFR_T_CPOOL = 1,

	JFR_T_BOOLEAN = 4,
	JFR_T_CHAR,
	JFR_T_FLOAT,
	JFR_T_DOUBLE,
	JFR_T_BYTE,
	JFR_T_SHORT,
	JFR_T_INT,
	JFR_T_LONG,

	JFR_T_STRING = 20,
	JFR_T_CLASS,
	JFR_T_THREAD,
	JFR_T_CLASS_LOADER,
	JFR_T_FRAME_TYPE,
	JFR_T_THREAD_STATE,
	JFR_T_STACK_TRACE,
	JFR_T_STACK_FRAME,
	JFR_T_METHOD,
	JFR_T_PACKAGE = 30,
	JFR_T_SYMBOL,
	JFR_T_USER_EVENT_TYPE = 34,
	JFR_T_CONTEXT = 60, /* only the agent's */
	JFR_T_WAIT,

	JFR_T_EVENT = 100, /* types from here up to JFR_T_ANNOTATION are jdk.jfr.Event */
	JFR_T_EXECUTION_SAMPLE = 101,
	JFR_T_CPU_LOAD = 106,
	JFR_T_ACTIVE_RECORDING,
	JFR_T_ACTIVE_SETTING,
	JFR_T_OS_INFORMATION,
	JFR_T_CPU_INFORMATION,
	JFR_T_NATIVE_LIBRARY = 113,
	JFR_T_WALL_CLOCK_SAMPLE = 119,
	JFR_T_MALLOC,
	JFR_T_FREE,
	JFR_T_NATIVE_LOCK,
	JFR_T_USER_EVENT = 124,
	JFR_T_RETAINED_HEAP = 180, /* only the agent's */
	JFR_T_LOSSES,
	JFR_T_CRASH,
	JFR_T_STALL,
	JFR_T_THREAD_TIMES,
	JFR_T_THROTTLING,
	JFR_T_COST,
	JFR_T_LOGGED_STATE,

	JFR_T_ANNOTATION = 200, /* types above it are java.lang.annotation.Annotation */
	JFR_T_LABEL,
	JFR_T_CATEGORY,
	JFR_T_CONTENT_TYPE,
	JFR_T_TIMESTAMP,
	JFR_T_TIMESPAN,
	JFR_T_DATA_AMOUNT,
	JFR_T_MEMORY_ADDRESS,
	JFR_T_UNSIGNED,
	JFR_T_PERCENTAGE,
};

/* Unit of a field's number. */
enum jfr_unit {
	JFR_UNIT_NONE,
	JFR_UNIT_COUNT, /* unsigned */
	JFR_UNIT_BYTES,
	JFR_UNIT_ADDRESS,
	JFR_UNIT_RATIO,      /* 0 to 1 */
	JFR_UNIT_TICKS,      /* a point in time */
	JFR_UNIT_MILLIS,     /* a point in time, since 1970 */
	JFR_UNIT_SPAN_TICKS, /* a duration */
	JFR_UNIT_SPAN_MILLIS,
	JFR_UNIT_SPAN_NANOS,
};

/* Kind of an event, from any writer: the agent's own events, and the events of the JDK and of
 * async-profiler that the reader knows. */
enum jfr_kind {
	JFR_OTHER,            /* not used by the reader */
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
	JFR_RETAINED,     /* asprof.RetainedHeap */
	JFR_LOSSES,       /* asprof.Losses */
	JFR_STALL,        /* asprof.Stall */
	JFR_THREAD_TIMES, /* asprof.ThreadTimes */
	JFR_THROTTLING,   /* asprof.Throttling */
	JFR_COST,         /* asprof.Cost */
	JFR_LOGGED_STATE, /* asprof.ThreadState */
	JFR_KINDS,
};

#define JFR_MASK(kind) (1u << (kind))

#define JFR_CATEGORIES_MAX 2

struct jfr_type_row {
	enum jfr_type_id type;
	const char *name;
	const char *label;                        /* NULL: none */
	const char *category[JFR_CATEGORIES_MAX]; /* of events */
	bool simple;                              /* one field, displayed instead of the object */
	enum jfr_kind kind;                       /* of events */
};

/* Storage of a field in its object. */
enum jfr_place {
	JFR_INLINE,   /* the value itself */
	JFR_IN_POOL,  /* a key in the constant pool of its type */
	JFR_IN_ARRAY, /* a count, then that many values */
};

struct jfr_field_row {
	enum jfr_type_id owner; /* fields of one owner are consecutive and in order */
	const char *name;
	enum jfr_type_id type;
	const char *label; /* NULL: none */
	enum jfr_place place;
	enum jfr_unit unit;
};

extern const struct jfr_type_row jfr_types[];
extern const size_t jfr_type_count;

/* The kind of the events named NAME, of any known writer. */
enum jfr_kind jfr_kind_named(const char *name);

extern const struct jfr_field_row jfr_fields[];
extern const size_t jfr_field_count;

/* Type of the constants with the contexts of samples. */
#define JFR_CONTEXT_TYPE "asprof.types.Context"

/* Type of the constants with the states and wait causes of wall-clock samples. */
#define JFR_WAIT_TYPE "asprof.types.Wait"

/* Version of the fields that the agent adds after async-profiler's; never the id of an event. */
#define JFR_EXTRA_VERSION 1

enum jfr_frame_type {
	JFR_FRAME_INTERPRETED,
	JFR_FRAME_JIT,
	JFR_FRAME_INLINED,
	JFR_FRAME_NATIVE,
	JFR_FRAME_CPP,
	JFR_FRAME_KERNEL,
	JFR_FRAME_C1,
	/* Only the agent's: functions of the program's script language; see
	 * jfr_frame_type_key(). */
	JFR_FRAME_PYTHON,
	JFR_FRAME_JAVASCRIPT,
	JFR_FRAME_RUBY,
	JFR_FRAME_PHP,
	JFR_FRAME_PERL,
	JFR_FRAME_TYPES
};

static inline bool jfr_frame_is_script(enum jfr_frame_type type)
{
	return type >= JFR_FRAME_PYTHON;
}

/* The number for TYPE in the agent's recordings. Readers that use numbers know only
 * async-profiler's seven. Three of these are for Java code, which the agent never records: they
 * are used for the script types. Types that share a number are distinguished by its name in the
 * chunk. */
static inline uint32_t jfr_frame_type_key(enum jfr_frame_type type)
{
	static const uint8_t keys[] = { JFR_FRAME_INTERPRETED, JFR_FRAME_INLINED, JFR_FRAME_C1 };

	return jfr_frame_is_script(type) ? keys[(type - JFR_FRAME_PYTHON) % sizeof(keys)] : type;
}

/* Readers distinguish CPU and wall-clock samples by the state; CPU samples have
 * JFR_STATE_DEFAULT. */
enum jfr_thread_state {
	JFR_STATE_DEFAULT,
	JFR_STATE_RUNNABLE,
	JFR_STATE_SLEEPING,
};

/* Constants that are the same in every chunk. Rows of one type are consecutive. */
struct jfr_constant_row {
	enum jfr_type_id type;
	uint32_t key;
	const char *name;
};

extern const struct jfr_constant_row jfr_constants[];
extern const size_t jfr_constant_count;

/* The constant of TYPE named NAME, or NULL. */
const struct jfr_constant_row *jfr_constant_named(enum jfr_type_id type, const char *name);

#endif
