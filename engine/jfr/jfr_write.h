/* Encoder: writes samples as chunks of Java Flight Recorder's format 2.0.
 *
 * A chunk is self-contained: header, types, events, and at its end the constant pools (stacks,
 * names) that its events refer to. The pools are collected in bounded memory while the chunk is
 * open; events are written directly to the file.
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
#include "engine/jfr/jfr_wait.h"

struct jfr_writer;

/* Write to FD from offset BASE on, with pwrite(2) only. The caller owns FD, which must outlive the
 * writer. Returns 0 and sets *OUT (release with jfr_writer_close), or -ENOMEM. */
int jfr_writer_open(struct jfr_writer **out, int fd, off_t base);

/* Other chunks of the same time in the file: none, the agent's own, or another engine's. */
enum jfr_others { JFR_ALONE, JFR_WITH_OWN_CHUNKS, JFR_WITH_OTHER_ENGINE };

/* Configure W for memory events only, before the first chunk. Such events are many, and have a
 * compact form.
 *
 * * Times count units of 2^COARSE ticks from the chunk's start. They take three bytes instead of
 *   seven or eight if a unit is a microsecond (arch_microsecond_shift). Other chunks have the
 *   counter's ticks, because the data of a user event may contain ticks.
 * * Ids come from a range of their own.
 * * Readers add up the durations of chunks. If OTHERS, chunks of this engine or of another, have
 *   the duration, W's chunks have 0. */
void jfr_writer_memory_only(struct jfr_writer *w, unsigned coarse, enum jfr_others others);

/* Write TICKS_PER_SECOND to chunks that end from now on, instead of a rate measured for each. 0:
 * measure it. */
void jfr_writer_calibrated(struct jfr_writer *w, uint64_t ticks_per_second);

/* An open chunk stays unfinished in the file. W may be NULL. */
void jfr_writer_close(struct jfr_writer *w);

/* Open a chunk after the last finished one: header, types, one jdk.ActiveRecording. Until
 * jfr_chunk_end() its header has a size beyond any file and no constant pool, which marks it as
 * unfinished for readers. START_NS is wall-clock time, read together with START_TICKS. Returns 0 or
 * -errno; after an error no chunk is open. */
int jfr_chunk_begin(struct jfr_writer *w, uint64_t start_ns, uint64_t start_ticks);

/* Close the chunk. NAMER is called at most once, the pools are written, and one write patches the
 * header last. Unless W is calibrated, the ticks per second are measured between begin and end. So
 * END_NS should be START_NS plus the elapsed time of a monotonic clock.
 *
 * Returns 0 and sets *END (may be NULL) to the offset after the chunk. Otherwise returns the first
 * error of the chunk, -errno, also of its begin: the chunk is then removed from the file, and the
 * next chunk begins at its place. */
int jfr_chunk_end(struct jfr_writer *w, uint64_t end_ns, uint64_t end_ticks, jfr_namer *namer,
		  void *context, off_t *end);

/* Append the finished chunks of FROM, another writer with a file of its own, to those of W; FROM is
 * then empty. No chunk may be open in either. Sets *END (may be NULL) as jfr_chunk_end() does.
 * Returns 0, or -errno without any change to the two writers. */
int jfr_writer_append(struct jfr_writer *w, struct jfr_writer *from, off_t *end);

/* Size of the open chunk so far, without its pools. */
uint64_t jfr_chunk_bytes(const struct jfr_writer *w);

/* Intern a stack for this chunk, leaf first: pcs[0] is exact, the others are return addresses.
 * Returns its id, which is never 0; the same stack has the same id. Ids of a writer are unique over
 * all its chunks. If the table is full (see jfr_limits.h) or memory is out, the id is that of a
 * stack with the one frame "[stack table full]", and the loss is counted. With COUNT 0, it is that
 * of a stack with the frame "[unknown]". */
uint32_t jfr_stack(struct jfr_writer *w, const uintptr_t *pcs, size_t count, bool truncated);

/* True when the table of stacks is so full that the chunk should end: three quarters of
 * JFR_STACKS_MAX_BYTES. The rest is for samples that are still in the rings. */
bool jfr_stacks_are_crowded(const struct jfr_writer *w);

/* Until the end of the chunk, let the table grow to JFR_RESERVED_STACKS_MAX_BYTES. The reserve is
 * for the stacks of the retained memory, so that events do not displace them. Stacks that do not fit count as
 * retained stacks from then on. */
void jfr_use_stack_reserve(struct jfr_writer *w);

/* Intern a context for this chunk. Returns its id; 0 if it is empty, or if the table is full
 * (JFR_CONTEXTS_MAX), which is counted. */
uint32_t jfr_context(struct jfr_writer *w, const struct jfr_context *context);

/* Set the context of the samples that are written from now on in this chunk to ID; 0: none. */
void jfr_use_context(struct jfr_writer *w, uint32_t id);

/* Intern the LENGTH bytes at LINES for this chunk: "key=value" lines, each with its newline.
 * Returns the id; 0 if LENGTH is 0, or if the table is full (JFR_CONTEXTS_MAX), which is
 * counted with the contexts. */
uint32_t jfr_wait_description(struct jfr_writer *w, const char *lines, size_t length);

/* Set the wait of the next wall-clock sample or wait for a lock, and of no other. */
void jfr_use_wait(struct jfr_writer *w, const struct jfr_wait *wait);

/* Set the name of thread TID in this chunk and the next ones; it replaces an older name. Threads
 * without events are not written. Threads with events and without a name are named "[tid=TID]". */
void jfr_thread(struct jfr_writer *w, pid_t tid, const char *name);

/* True when TID has a name. */
bool jfr_thread_named(const struct jfr_writer *w, pid_t tid);

/* Remove the names of threads, between two chunks. */
void jfr_forget_threads(struct jfr_writer *w);

/* The id of user events named NAME: the same for the writer's life. Returns 0 when memory is out or
 * there are already JFR_USER_TYPES_MAX; events of type 0 are dropped. */
uint32_t jfr_user_event_type(struct jfr_writer *w, const char *name);

/* Events. These functions never fail: jfr_chunk_end() returns the first error, and later events are
 * dropped. Events outside a chunk are also dropped. Stack 0: none. */

void jfr_execution_sample(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack,
			  enum jfr_thread_state state);

/* SAMPLES consecutive samples on the same stack, during SPAN_TICKS. STATE is RUNNABLE or
 * SLEEPING. Other readers than ours read at most 31 bits of SAMPLES. */
void jfr_wall_sample(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack,
		     enum jfr_thread_state state, uint64_t samples, uint64_t span_ticks);

/* WEIGHT: the bytes of all allocations that this sample stands for. */
void jfr_malloc(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack, uint64_t address,
		uint64_t size, uint64_t weight);

/* WEIGHT and BIRTH (ticks) are those of the freed allocation. */
void jfr_free(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack, uint64_t address,
	      uint64_t weight, uint64_t birth);

/* A wait of SPAN_TICKS for the lock at ADDRESS, which stands for WEIGHT_TICKS. */
struct jfr_native_lock {
	uint64_t ticks, span_ticks, weight_ticks, address;
};

void jfr_native_lock(struct jfr_writer *w, pid_t tid, uint32_t stack,
		     const struct jfr_native_lock *lock);

/* Memory that one stack has allocated and not freed. The totals count from the start of
 * sampling. */
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

/* Readers use: clock ("tsc"), version, engine, cstack, event, interval, wall, nativemem. */
void jfr_setting(struct jfr_writer *w, uint64_t ticks, const char *key, const char *value);

/* Code mapped from a file at [BASE, TOP). */
struct jfr_library {
	const char *path;
	uintptr_t base, top;
	const uint8_t *build_id;
	size_t build_id_size;  /* 0: none */
	uint64_t link_address; /* of BASE */
	uint64_t file_offset;  /* of BASE */
};

void jfr_native_library(struct jfr_writer *w, uint64_t ticks, const struct jfr_library *library);

/* Shares of all processors, 0 to 1. */
void jfr_cpu_load(struct jfr_writer *w, uint64_t ticks, float user, float system, float machine);

void jfr_os_information(struct jfr_writer *w, uint64_t ticks, const char *version);
void jfr_cpu_information(struct jfr_writer *w, uint64_t ticks, const char *cpu,
			 const char *description, uint32_t sockets, uint32_t cores,
			 uint32_t threads);

/* Losses of the chunk. The writer adds its own losses. */
struct jfr_losses {
	uint64_t samples; /* taken samples, for comparison */
	uint64_t ring_full;
	uint64_t timer_failures;
	uint64_t table_evictions;
	uint64_t late;
	uint64_t stalls;          /* stalls that were not reported */
	uint64_t retained_stacks; /* truncated or dropped stacks in the table of retained memory */
	uint64_t memory;          /* refusals by ASPROF_AGENT_MEMORY */
};

/* An event-loop iteration lasted SPAN_TICKS from TICKS on, after a wait that returned READY. */
void jfr_stall(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack, uint64_t span_ticks,
	       int ready);

/* What one thread did during SPAN_TICKS. The first three members add up to that time. */
struct jfr_thread_times {
	uint64_t cpu_ns, run_queue_ns, blocked_ns;
	uint64_t major_faults;
	uint64_t voluntary_switches, involuntary_switches;
	uint64_t bytes_read, bytes_written;
};

void jfr_thread_times(struct jfr_writer *w, uint64_t ticks, uint64_t span_ticks, pid_t tid,
		      const struct jfr_thread_times *times);

/* Thread TID was in the state WAIT, of jfr_wait_description(), for SPAN_TICKS. */
void jfr_logged_state(struct jfr_writer *w, uint64_t ticks, uint64_t span_ticks, pid_t tid,
		      uint32_t wait);

/* The control group's CPU limit kept the process off the processors for THROTTLED_NS. */
void jfr_throttling(struct jfr_writer *w, uint64_t ticks, uint64_t span_ticks,
		    uint64_t throttled_ns);

/* Signal SIGNO is about to terminate the program. */
void jfr_crash(struct jfr_writer *w, uint64_t ticks, pid_t tid, uint32_t stack, int signo, int code,
	       uint64_t address);

/* CPU time for samples, all in nanoseconds. */
struct jfr_cost {
	const char *kind;
	uint64_t samples, cpu_ns;
	uint64_t program_ns, elapsed_ns; /* of the program, for comparison */
	uint64_t sampled_ns, kept_ns;
};

void jfr_cost(struct jfr_writer *w, uint64_t ticks, const struct jfr_cost *cost);

void jfr_losses(struct jfr_writer *w, uint64_t ticks, const struct jfr_losses *losses);

/* Add the writer's own losses of the open chunk to the counters: stacks and threads that did not
 * fit the tables, and events. */
void jfr_writer_add_losses(const struct jfr_writer *w, uint64_t *stacks, uint64_t *threads,
			   uint64_t *events);

#endif
