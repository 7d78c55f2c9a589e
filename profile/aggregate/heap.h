/* Native memory over all recordings: live allocations, and lifetimes of freed ones. Events are
 * processed in time order, which differs from their order in the file. */
#ifndef PROFILE_AGGREGATE_HEAP_H
#define PROFILE_AGGREGATE_HEAP_H

#include <stdatomic.h>

#include "profile/aggregate/feed.h"
#include "profile/aggregate/profile.h"

/* Returns the number of allocations of SIZE that a sample represents. WEIGHT is the number of bytes
 * it represents, from the recording; 0 if unknown. async-profiler samples one allocation per
 * mem_interval bytes, so the probability is size/interval. */
double mem_scale(const struct settings *settings, int64_t size, int64_t weight);

/* Returns the variance of that number: the sample is taken with probability 1/SCALE, so a sample
 * that represents only itself has variance 0. */
static inline double mem_scale_variance(double scale)
{
	return scale > 1 ? scale * (scale - 1) : 0;
}

/* One allocation that has not been freed. */
struct allocation {
	uint64_t address; /* 0: free entry */
	int64_t time_ns;  /* time of the event */
	int64_t birth_ns; /* earlier than time_ns after a realloc */
	int64_t size;
	float scale;
	uint32_t stack, thread, process;
};

/* Lifetime histogram with powers of ten: below 1 us, 10 us, ... 100 s, 1000 s, longer. */
#define LIFE_BUCKETS 11

/* Totals of one stack. */
struct heap_stack {
	double allocated, allocated_bytes;
	double freed[LIFE_BUCKETS], freed_bytes[LIFE_BUCKETS];
};

/* Snapshot of a process's retained memory by the builtin engine: one asprof.RetainedHeap event per
 * stack, all in one chunk. It covers all allocations since the engine's start, also those before
 * the first file. */
struct retained {
	uint32_t stack;
	int64_t oldest_ns;
	double count, bytes;
};

struct heap_snapshot {
	struct retained *rows;
	uint32_t count, capacity;
	int64_t time_ns;
	bool found;
};

/* One process, as the labels of its recordings identify it. */
struct heap_process {
	int64_t first_ns, last_ns;        /* time range of its chunks */
	bool covered;                     /* the range is set */
	uint32_t thread;                  /* thread "all threads" with the labels of the process */
	struct heap_snapshot first, last; /* its first and last snapshot, with want_snapshots */
};

/* Memory held at the end by one stack of one process. Several of these can be added up. `count` and
 * `bytes` are 0 if only the growth is known. */
struct held {
	uint32_t stack, thread, process;
	double count, bytes;
	double count_variance, bytes_variance; /* as in struct sample */
	double grown; /* growth in bytes in the last growth_ns of its process; may be negative */
	int64_t growth_ns; /* 0: the recordings are too short */
	int64_t time_ns;   /* time of the allocation event, or of the snapshot */
	int64_t age_ns;    /* age of the oldest allocation at the end of the process's recordings */
};

struct heap {
	/* Input, set before heap_read(). */
	const struct query *query;
	struct feed *feed;
	bool want_stacks;           /* fill `stacks` too */
	bool want_snapshots;        /* a process's last snapshot replaces its single events */
	void (*on_part)(void *arg); /* may be NULL */
	void *arg;

	struct profile profile; /* names, frames, stacks and threads; no samples */
	struct intern processes;

	/* To bound memory, the files are read once for each of 2^part_bits parts of the address
	 * space. The table has the live allocations of `part`. */
	unsigned part_bits;
	uint32_t part;
	atomic_bool overflow; /* the first part has too many allocations */

	struct allocation *table; /* hash table by address and process */
	uint32_t live, capacity;

	struct heap_stack *stacks; /* by stack ID, if want_stacks is set */
	uint32_t stack_capacity;

	struct heap_process *process_list; /* by process ID */
	uint32_t process_capacity;

	int64_t first_ns, last_ns; /* of all malloc and free events; first > last: none */
	bool out_of_memory;

	struct last_free *last_frees; /* by thread; a thread's last free may belong to a realloc */
	uint32_t last_free_capacity;
	uint8_t *reallocs; /* by stack, whether it is a realloc: 0 unknown, 1 no, 2 yes */
	uint32_t realloc_capacity;
};

/* Read the files. Calls on_part(arg) for each part of the address space, with that part's live
 * allocations in the table. An allocation that realloc moved from one part to another gets its
 * birth time from the realloc. Returns 0, -ENOMEM, or -EIO if some data could not be read, which
 * was reported; the rest is then in HEAP. Release with heap_free() in any case. */
int heap_read(struct heap *heap);
void heap_free(struct heap *heap);

/* Reset HEAP to read all events again for heap->part. */
void heap_start_part(struct heap *heap);

/* Sort the table by time, as the hash has another seed in each process. No event may follow in this part. */
void heap_finish_part(struct heap *heap);

/* Call VISIT for all memory that is held in this part of the address space; in the last part also
 * for the snapshots. Called from on_part().
 *
 * This defines "retained": each process counts with the memory that it held when its recordings
 * end, whether it still runs or not. With want_snapshots, the last snapshot of a process replaces
 * its single events. */
void heap_visit_held(const struct heap *heap, void (*visit)(void *arg, const struct held *held),
		     void *arg);

/* Whether the last snapshot of PROCESS, which may be any number, replaces its single events. */
bool heap_process_has_snapshot(const struct heap *heap, uint32_t process);

/* Add held memory to heap->profile as METRIC_LIVE, except allocations in the last part TAIL (0 to
 * 1) of the time: they are too young to be leaks. Called from on_part(). */
void heap_add_to_profile(struct heap *heap, double tail);

/* A recording whose addresses all belong to one part is read at most so often; then the table grows. */
#define HEAP_PART_BITS_MAX 8

/* Whether ADDRESS is in the current part. The parts have no seed: they determine the order of the output. */
static inline bool heap_part_has(const struct heap *heap, uint64_t address)
{
	uint64_t hash = (address * 0x9E3779B97F4A7C15u) >> 32 & UINT32_MAX;

	return hash >> (32 - heap->part_bits) == heap->part;
}

/* Returns the entry of PROCESS, valid until a process is added; NULL when out of memory. */
struct heap_process *heap_get_process(struct heap *heap, uint32_t process);

/* Process one event; events must be in time order. Called by heap_read() and by tests. */
void heap_on_malloc(struct heap *heap, struct allocation *allocation);
void heap_on_free(struct heap *heap, uint64_t address, uint32_t process, int64_t time_ns,
		  uint32_t thread);

#endif
