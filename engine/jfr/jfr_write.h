/* The encoder: samples in, chunks of Java Flight Recorder's format 2.0 out.
 *
 * A chunk is complete in itself: header, types, events, and at its end the constant pools
 * (stacks, names) that its events refer to. What the pools need is held in bounded memory while
 * the chunk is open; events go straight to the file.
 *
 * One thread uses a writer; not in signal context. Times are ticks (core/clock.h). */
#ifndef ENGINE_JFR_JFR_WRITE_H
#define ENGINE_JFR_JFR_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/jfr/jfr_contexts.h"
#include "engine/jfr/jfr_limits.h"
#include "engine/jfr/jfr_namer.h"
#include "engine/jfr/jfr_types.h"

struct jfr_writer;

/* Write to FD from offset BASE on, with pwrite(2) only. FD stays the caller's and must outlive
 * the writer. Returns 0 and sets *OUT (release with jfr_writer_close), or -ENOMEM. */
int jfr_writer_open(struct jfr_writer **out, int fd, off_t base);

/* Whose chunks of the same time lie beside those of a writer, in one file. */
enum jfr_beside { JFR_ALONE, JFR_BESIDE_OURS, JFR_BESIDE_ANOTHERS };

/* Before the first chunk: W's chunks hold memory events alone, which are many, and so are short.
 * Their times count units of 2^COARSE ticks from the chunk's start on: three bytes instead of seven
 * or eight when a unit is a microsecond (arch_microsecond_shift). Other chunks keep the counter's
 * ticks, as the data of a user event may hold some. Their ids come from a range of their own.
 * Readers add up the durations of chunks: where those BESIDE W's tell how long it was, W's tell 0. */
void jfr_writer_memory_only(struct jfr_writer *w, unsigned coarse, enum jfr_beside beside);

/* An open chunk stays in the file unfinished. W may be NULL. */
void jfr_writer_close(struct jfr_writer *w);

/* Open a chunk behind the last finished one: header, types, one jdk.ActiveRecording. Until
 * jfr_chunk_end its header names a size beyond any file and no constant pool, so that readers
 * and cutters see that it is unfinished. START_NS is wall clock, taken together with
 * START_TICKS. Returns 0 or -errno; on failure no chunk is open. */
int jfr_chunk_begin(struct jfr_writer *w, uint64_t start_ns, uint64_t start_ticks);

/* Close the chunk: NAMER is called at most once, the pools are written, the header is patched
 * last, by one write. Ticks per second are measured between begin and end, so END_NS should be
 * START_NS plus what a monotonic clock says has passed.
 *
 * Returns 0 and sets *END (may be NULL) to the offset behind the chunk, or the first error that
 * the chunk met, -errno: then it is void, its bytes are cut off the file, and the next chunk
 * begins where it began. */
int jfr_chunk_end(struct jfr_writer *w, uint64_t end_ns, uint64_t end_ticks, jfr_namer *namer,
		  void *context, off_t *end);

/* Move the finished chunks of FROM, another writer with a file of its own, behind those of W; FROM
 * then starts over. No chunk is open in either. Sets *END (may be NULL) as jfr_chunk_end does.
 * Returns 0, or -errno with both as they were. */
int jfr_writer_append(struct jfr_writer *w, struct jfr_writer *from, off_t *end);

/* Bytes of the open chunk so far, pools not counted. */
uint64_t jfr_chunk_bytes(const struct jfr_writer *w);

/* Intern a stack for this chunk, leaf first: pcs[0] is exact, the others are return addresses.
 * Returns its id, which is never 0; the same stack has the same id. No two stacks of a writer
 * share one, in whatever chunk. When the table is full (JFR_STACKS_MAX_BYTES), or memory is out,
 * it is the id of a stack with the one frame "[stack table full]", and that is counted; with
 * COUNT 0, of one with the frame "[unknown]". */
uint32_t jfr_stack(struct jfr_writer *w, const uintptr_t *pcs, size_t count, bool truncated);

/* Intern a context for this chunk. Returns its id; 0 where there is nothing in it, or when the table is full
 * (JFR_CONTEXTS_MAX), which is counted. */
uint32_t jfr_context(struct jfr_writer *w, const struct jfr_context *context);

/* The samples that are written from now on in this chunk have the context ID; 0: none. */
void jfr_use_context(struct jfr_writer *w, uint32_t id);

/* Name thread TID in this chunk; the newest name wins. Threads that no event mentions are left
 * out; those mentioned and never named are called "[tid=TID]". */
void jfr_thread(struct jfr_writer *w, pid_t tid, const char *name);

/* Whether TID was named in this chunk. */
bool jfr_thread_named(const struct jfr_writer *w, pid_t tid);

/* The id of user events called NAME: the same for the writer's life. 0 when there is no memory
 * or there are JFR_USER_TYPES_MAX already; events of type 0 are dropped. */
uint32_t jfr_user_event_type(struct jfr_writer *w, const char *name);

/* Events. They never fail: the first error sticks and comes out of jfr_chunk_end, later events
 * are dropped. Outside a chunk they are dropped as well. Stack 0 is none. */

void jfr_execution_sample(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack,
			  enum jfr_thread_state state);

/* SAMPLES in a row on the same stack, spread over SPAN_TICKS. STATE is RUNNABLE or SLEEPING. */
void jfr_wall_sample(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack,
		     enum jfr_thread_state state, uint32_t samples, uint64_t span_ticks);

/* WEIGHT: the bytes of all allocations that this one stands for. */
void jfr_malloc(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack, uint64_t address,
		uint64_t size, uint64_t weight);

/* WEIGHT and BIRTH (ticks) of the allocation that ends. */
void jfr_free(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack, uint64_t address,
	      uint64_t weight, uint64_t birth);

/* What one stack has allocated and not freed. The totals count from the start of sampling. */
struct jfr_retained {
	uint64_t count, bytes;
	uint64_t oldest; /* ticks */
	uint64_t allocated_count, allocated_bytes;
	uint64_t freed_count, freed_bytes;
};

void jfr_retained(struct jfr_writer *w, uint64_t ticks, uint32_t stack,
		  const struct jfr_retained *retained);

/* LENGTH is at most ASPROF_MAX_JFR_EVENT_LENGTH (core/asprof.h); longer events are dropped. */
void jfr_user_event(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t type,
		    const void *data, size_t length);

/* Readers look at: clock ("tsc"), version, engine, cstack, event, interval, wall, nativemem. */
void jfr_setting(struct jfr_writer *w, uint64_t ticks, const char *key, const char *value);

/* Code that is mapped from a file at [BASE, TOP). */
struct jfr_library {
	const char *path;
	uintptr_t base, top;
	const uint8_t *build_id;
	size_t build_id_size;  /* 0: none */
	uint64_t link_address; /* of BASE */
	uint64_t file_offset;  /* likewise */
};

void jfr_native_library(struct jfr_writer *w, uint64_t ticks, const struct jfr_library *library);

/* Shares of all processors, 0 to 1. */
void jfr_cpu_load(struct jfr_writer *w, uint64_t ticks, float user, float system, float machine);

void jfr_os_information(struct jfr_writer *w, uint64_t ticks, const char *version);
void jfr_cpu_information(struct jfr_writer *w, uint64_t ticks, const char *cpu,
			 const char *description, uint32_t sockets, uint32_t cores,
			 uint32_t threads);
void jfr_log(struct jfr_writer *w, uint64_t ticks, enum jfr_log_level level, const char *message);

/* What the chunk lacks. The writer adds what it lost itself. */
struct jfr_losses {
	uint64_t samples; /* taken, for comparison */
	uint64_t ring_full;
	uint64_t timer_failures;
	uint64_t table_evictions;
	uint64_t late;
	uint64_t stalls; /* that were not told */
};

/* A turn of an event loop lasted SPAN_TICKS from TICKS on, behind a wait that returned READY. */
void jfr_stall(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack, uint64_t span_ticks,
	       int ready);

/* The program is about to die of signal SIGNO. */
void jfr_crash(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack, int signo, int code,
	       uint64_t address);

void jfr_losses(struct jfr_writer *w, uint64_t ticks, const struct jfr_losses *losses);

/* What the writer lost itself of the chunk that is open, added to these: stacks and threads for which the tables had no
 * room, and events. */
void jfr_writer_add_losses(const struct jfr_writer *w, uint64_t *stacks, uint64_t *threads,
			   uint64_t *events);

#endif
