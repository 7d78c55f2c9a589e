/* The encoder's events: each writes the fields of its type (jfr_types.c) in order. */
#include <string.h>

#include "core/asprof.h"
#include "core/text/hex.h"
#include "engine/jfr/jfr_chunk.h"
#include "engine/jfr/jfr_encode.h"
#include "engine/jfr/jfr_write.h"

/* An event of numbers only has at most twelve numbers of nine bytes, and a length of one byte. An
 * event with strings has a padded length. */
#define NUMBERS_MAX (12 * JFR_VARINT_MAX)
#define STRING_HEAD (1 + JFR_VARINT_MAX)

_Static_assert(1 + JFR_VARINT_MAX + NUMBERS_MAX < 128, "the length fits a one-byte varint");

struct event {
	uint8_t *start, *p;
};

static bool event_begin(struct jfr_writer *w, struct event *e, enum jfr_type_id type,
			size_t length_bytes, size_t room)
{
	e->start = w->open ? jfr_out_room(&w->out, length_bytes + JFR_VARINT_MAX + room) : NULL;
	if (!e->start) {
		w->dropped++;
		return false;
	}
	e->p = jfr_put_varint(e->start + length_bytes, type);
	return true;
}

static void event_put(struct event *e, uint64_t value)
{
	e->p = jfr_put_varint(e->p, value);
}

static void event_put_time(const struct jfr_writer *w, struct event *e, uint64_t ticks)
{
	event_put(e, jfr_file_time(w, ticks));
}

/* Every event starts with its time. */
static bool event_begin_numbers(struct jfr_writer *w, struct event *e, enum jfr_type_id type,
				uint64_t ticks)
{
	if (!event_begin(w, e, type, 1, NUMBERS_MAX))
		return false;
	event_put_time(w, e, ticks);
	return true;
}

static void event_end_numbers(struct jfr_writer *w, struct event *e)
{
	*e->start = (uint8_t)(e->p - e->start);
	jfr_out_commit(&w->out, e->p);
}

static void event_put_thread(struct jfr_writer *w, struct event *e, pid_t tid)
{
	if (tid > 0)
		jfr_threads_use(&w->interned.threads, tid);
	event_put(e, (uint32_t)tid);
}

/* Write the two fields that make async-profiler's reader skip the following ones, see jfr_types.c.
 * Returns the position of the length. */
static uint8_t *event_begin_extra(struct event *e)
{
	uint8_t *length = e->p++;

	event_put(e, JFR_EXTRA_VERSION);
	return length;
}

static void event_end_extra(struct event *e, uint8_t *length)
{
	*length = (uint8_t)(e->p - length);
}

static void event_put_context(struct jfr_writer *w, struct event *e)
{
	uint8_t *extra = event_begin_extra(e);

	event_put(e, w->context);
	event_end_extra(e, extra);
}

void jfr_execution_sample(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack,
			  enum jfr_thread_state state)
{
	struct event e;

	if (!event_begin_numbers(w, &e, JFR_T_EXECUTION_SAMPLE, ticks))
		return;
	event_put_thread(w, &e, tid);
	event_put(&e, stack);
	event_put(&e, state);
	event_put_context(w, &e);
	event_end_numbers(w, &e);
}

void jfr_wall_sample(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack,
		     enum jfr_thread_state state, uint64_t samples, uint64_t span_ticks)
{
	struct event e;
	uint8_t *extra;

	if (!event_begin_numbers(w, &e, JFR_T_WALL_CLOCK_SAMPLE, ticks))
		return;
	event_put_thread(w, &e, tid);
	event_put(&e, stack);
	event_put(&e, state);
	event_put(&e, samples);
	event_put(&e, span_ticks >> w->coarse);
	extra = event_begin_extra(&e);
	event_put(&e, w->context);
	event_put(&e, w->wait.description);
	event_put(&e, w->wait.owner_stack);
	event_put(&e, w->wait.owner_delay_ns);
	event_end_extra(&e, extra);
	event_end_numbers(w, &e);
	w->wait = (struct jfr_wait){ 0 };
}

void jfr_malloc(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack, uint64_t address,
		uint64_t size, uint64_t weight)
{
	struct event e;
	uint8_t *extra;

	if (!event_begin_numbers(w, &e, JFR_T_MALLOC, ticks))
		return;
	event_put_thread(w, &e, tid);
	event_put(&e, stack);
	event_put(&e, address);
	event_put(&e, size);
	extra = event_begin_extra(&e);
	event_put(&e, weight);
	event_put(&e, w->context);
	event_end_extra(&e, extra);
	event_end_numbers(w, &e);
}

void jfr_free(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack, uint64_t address,
	      uint64_t weight, uint64_t birth)
{
	struct event e;
	uint8_t *extra;

	if (!event_begin_numbers(w, &e, JFR_T_FREE, ticks))
		return;
	event_put_thread(w, &e, tid);
	event_put(&e, stack);
	event_put(&e, address);
	extra = event_begin_extra(&e);
	event_put(&e, weight);
	event_put_time(w, &e, birth);
	event_end_extra(&e, extra);
	event_end_numbers(w, &e);
}

void jfr_native_lock(struct jfr_writer *w, pid_t tid, uint32_t stack,
		     const struct jfr_native_lock *lock)
{
	struct event e;
	uint8_t *extra;

	if (!event_begin_numbers(w, &e, JFR_T_NATIVE_LOCK, lock->ticks))
		return;
	event_put(&e, lock->span_ticks >> w->coarse);
	event_put_thread(w, &e, tid);
	event_put(&e, stack);
	event_put(&e, lock->address);
	extra = event_begin_extra(&e);
	event_put(&e, lock->weight_ticks >> w->coarse);
	event_put(&e, w->context);
	event_put(&e, w->wait.description);
	event_put(&e, w->wait.owner_stack);
	event_end_extra(&e, extra);
	event_end_numbers(w, &e);
	w->wait = (struct jfr_wait){ 0 };
}

void jfr_retained(struct jfr_writer *w, uint64_t ticks, uint32_t stack,
		  const struct jfr_retained *retained)
{
	struct event e;

	if (!event_begin_numbers(w, &e, JFR_T_RETAINED_HEAP, ticks))
		return;
	event_put(&e, stack);
	event_put(&e, retained->count);
	event_put(&e, retained->bytes);
	event_put_time(w, &e, retained->oldest);
	event_put(&e, retained->allocated_count);
	event_put(&e, retained->allocated_bytes);
	event_put(&e, retained->freed_count);
	event_put(&e, retained->freed_bytes);
	event_end_numbers(w, &e);
}

void jfr_losses(struct jfr_writer *w, uint64_t ticks, const struct jfr_losses *losses)
{
	uint64_t full = w->interned.stacks.full;
	uint64_t of_events = w->uses_reserve ? w->events_full : full;
	struct event e;

	if (!event_begin_numbers(w, &e, JFR_T_LOSSES, ticks))
		return;
	event_put(&e, losses->samples);
	event_put(&e, losses->ring_full);
	event_put(&e, losses->timer_failures);
	event_put(&e, losses->table_evictions);
	event_put(&e, of_events);
	event_put(&e, w->interned.threads.full);
	event_put(&e, w->dropped);
	event_put(&e, losses->late);
	event_put(&e, losses->stalls);
	event_put(&e, w->interned.contexts.full + w->interned.waits.full);
	event_put(&e, losses->retained_stacks + full - of_events);
	event_put(&e, losses->memory);
	event_end_numbers(w, &e);
}

void jfr_crash(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack, int signo, int code,
	       uint64_t address)
{
	struct event e;

	if (!event_begin_numbers(w, &e, JFR_T_CRASH, ticks))
		return;
	event_put_thread(w, &e, tid);
	event_put(&e, stack);
	event_put(&e, (uint64_t)signo);
	event_put(&e, (uint32_t)code); /* an int of JFR is a varint of 32 bits */
	event_put(&e, address);
	event_put(&e, w->context);
	event_end_numbers(w, &e);
}

void jfr_writer_add_losses(const struct jfr_writer *w, uint64_t *stacks, uint64_t *threads,
			   uint64_t *events)
{
	*stacks += w->interned.stacks.full;
	*threads += w->interned.threads.full;
	*events += w->dropped;
}

void jfr_stall(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack, uint64_t span_ticks,
	       int ready)
{
	struct event e;

	if (!event_begin_numbers(w, &e, JFR_T_STALL, ticks))
		return;
	event_put(&e, span_ticks >> w->coarse);
	event_put_thread(w, &e, tid);
	event_put(&e, stack);
	event_put(&e, (uint32_t)ready);
	event_put(&e, w->context);
	event_end_numbers(w, &e);
}

void jfr_thread_times(struct jfr_writer *w, uint64_t ticks, uint64_t span_ticks, pid_t tid,
		      const struct jfr_thread_times *times)
{
	struct event e;

	if (!event_begin_numbers(w, &e, JFR_T_THREAD_TIMES, ticks))
		return;
	event_put(&e, span_ticks >> w->coarse);
	event_put_thread(w, &e, tid);
	event_put(&e, times->cpu_ns);
	event_put(&e, times->run_queue_ns);
	event_put(&e, times->blocked_ns);
	event_put(&e, times->major_faults);
	event_put(&e, times->voluntary_switches);
	event_put(&e, times->involuntary_switches);
	event_put(&e, times->bytes_read);
	event_put(&e, times->bytes_written);
	event_end_numbers(w, &e);
}

void jfr_logged_state(struct jfr_writer *w, uint64_t ticks, uint64_t span_ticks, pid_t tid,
		      uint32_t wait)
{
	struct event e;

	if (!event_begin_numbers(w, &e, JFR_T_LOGGED_STATE, ticks))
		return;
	event_put(&e, span_ticks >> w->coarse);
	event_put_thread(w, &e, tid);
	event_put(&e, wait);
	event_end_numbers(w, &e);
}

void jfr_throttling(struct jfr_writer *w, uint64_t ticks, uint64_t span_ticks,
		    uint64_t throttled_ns)
{
	struct event e;

	if (!event_begin_numbers(w, &e, JFR_T_THROTTLING, ticks))
		return;
	event_put(&e, span_ticks >> w->coarse);
	event_put(&e, throttled_ns);
	event_end_numbers(w, &e);
}

static float ratio(float value)
{
	return value > 0 ? value < 1 ? value : 1 : 0; /* NaN becomes 0 */
}

void jfr_cpu_load(struct jfr_writer *w, uint64_t ticks, float user, float system, float machine)
{
	struct event e;

	if (!event_begin_numbers(w, &e, JFR_T_CPU_LOAD, ticks))
		return;
	e.p = jfr_put_float(e.p, ratio(user));
	e.p = jfr_put_float(e.p, ratio(system));
	e.p = jfr_put_float(e.p, ratio(machine));
	event_end_numbers(w, &e);
}

/* Begin an event with STRINGS string fields, with LENGTH bytes in total at most. */
static bool event_begin_strings(struct jfr_writer *w, struct event *e, enum jfr_type_id type,
				uint64_t ticks, size_t strings, size_t length)
{
	if (!event_begin(w, e, type, JFR_PADDED_LENGTH,
			 NUMBERS_MAX + strings * STRING_HEAD + length))
		return false;
	event_put_time(w, e, ticks);
	return true;
}

static void event_end_strings(struct jfr_writer *w, struct event *e)
{
	jfr_put_padded(e->start, (size_t)(e->p - e->start));
	jfr_out_commit(&w->out, e->p);
}

static size_t string_length(const char *string)
{
	return jfr_string_length(string, JFR_STRING_MAX);
}

static void event_put_string(struct event *e, const char *string)
{
	e->p = jfr_put_bytes(e->p, JFR_STRING_UTF8, string, string_length(string));
}

void jfr_user_event(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t type,
		    const void *data, size_t length)
{
	struct event e;

	if (!type || length > ASPROF_MAX_JFR_EVENT_LENGTH) {
		w->dropped++;
		return;
	}
	if (!event_begin_strings(w, &e, JFR_T_USER_EVENT, ticks, 1, length))
		return;
	event_put_thread(w, &e, tid);
	event_put(&e, type);
	/* Raw bytes as a Latin-1 string, as readers of user events expect. */
	e.p = jfr_put_bytes(e.p, JFR_STRING_LATIN1, data, length);
	event_end_strings(w, &e);
}

void jfr_cost(struct jfr_writer *w, uint64_t ticks, const struct jfr_cost *cost)
{
	struct event e;

	if (!event_begin_strings(w, &e, JFR_T_COST, ticks, 1, string_length(cost->kind)))
		return;
	event_put_string(&e, cost->kind);
	event_put(&e, cost->samples);
	event_put(&e, cost->cpu_ns);
	event_put(&e, cost->program_ns);
	event_put(&e, cost->elapsed_ns);
	event_put(&e, cost->sampled_ns);
	event_put(&e, cost->kept_ns);
	event_end_strings(w, &e);
}

/* The event type that a setting belongs to; other settings belong to the recording. */
static const struct {
	const char *key;
	enum jfr_type_id type;
} setting_types[] = {
	{ "interval", JFR_T_EXECUTION_SAMPLE },
	{ "wall", JFR_T_EXECUTION_SAMPLE },
	{ "nativemem", JFR_T_MALLOC },
};

void jfr_setting(struct jfr_writer *w, uint64_t ticks, const char *key, const char *value)
{
	enum jfr_type_id type = JFR_T_ACTIVE_RECORDING;
	struct event e;
	size_t i;

	for (i = 0; i < sizeof(setting_types) / sizeof(*setting_types); i++)
		if (!strcmp(setting_types[i].key, key))
			type = setting_types[i].type;
	if (!event_begin_strings(w, &e, JFR_T_ACTIVE_SETTING, ticks, 2,
				 string_length(key) + string_length(value)))
		return;
	event_put(&e, type);
	event_put_string(&e, key);
	event_put_string(&e, value);
	event_end_strings(w, &e);
}

static void event_put_hex(struct event *e, const uint8_t *bytes, size_t size)
{
	*e->p++ = JFR_STRING_UTF8;
	e->p = jfr_put_varint(e->p, size * 2);
	e->p = (uint8_t *)hex_encode((char *)e->p, bytes, size);
}

void jfr_native_library(struct jfr_writer *w, uint64_t ticks, const struct jfr_library *library)
{
	struct event e;

	if (!event_begin_strings(w, &e, JFR_T_NATIVE_LIBRARY, ticks, 2,
				 string_length(library->path) + library->build_id_size * 2))
		return;
	event_put_string(&e, library->path);
	event_put(&e, library->base);
	event_put(&e, library->top);
	event_put_hex(&e, library->build_id, library->build_id_size);
	event_put(&e, library->link_address);
	event_put(&e, library->file_offset);
	event_end_strings(w, &e);
}

void jfr_os_information(struct jfr_writer *w, uint64_t ticks, const char *version)
{
	struct event e;

	if (!event_begin_strings(w, &e, JFR_T_OS_INFORMATION, ticks, 1, string_length(version)))
		return;
	event_put_string(&e, version);
	event_end_strings(w, &e);
}

void jfr_cpu_information(struct jfr_writer *w, uint64_t ticks, const char *cpu,
			 const char *description, uint32_t sockets, uint32_t cores,
			 uint32_t threads)
{
	struct event e;

	if (!event_begin_strings(w, &e, JFR_T_CPU_INFORMATION, ticks, 2,
				 string_length(cpu) + string_length(description)))
		return;
	event_put_string(&e, cpu);
	event_put_string(&e, description);
	event_put(&e, sockets);
	event_put(&e, cores);
	event_put(&e, threads);
	event_end_strings(w, &e);
}

void jfr_active_recording(struct jfr_writer *w)
{
	static const char name[] = "asprof-agent " ASPROF_AGENT_VERSION;
	static const char destination[] = "asprof-agent.jfr";
	struct event e;

	if (!event_begin_strings(w, &e, JFR_T_ACTIVE_RECORDING, w->start_ticks, 2,
				 sizeof(name) + sizeof(destination)))
		return;
	event_put(&e, 1); /* id */
	event_put_string(&e, name);
	event_put_string(&e, destination);
	event_put(&e, INT64_MAX); /* age, unbounded */
	event_put(&e, 0);         /* size, unbounded */
	event_put(&e, w->start_ns / 1000000);
	event_put(&e, INT64_MAX); /* duration: until stopped */
	event_end_strings(w, &e);
}
