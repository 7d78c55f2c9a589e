/* Account of the agent's own memory in the program's process, and its bound, ASPROF_AGENT_MEMORY.
 *
 * What counts: the memory that the image has mapped for its heap, the resident pages of the host's side's rings and
 * tables, and the files of captures. What does not count: async-profiler, undelivered reports and the running
 * recording (SPOOL_MAX_BYTES bounds these), the agent's code, and the alternate signal stacks of the program's threads
 * (without them there are no samples; status shows their size).
 *
 * Each use may fill the bound up to a limit of its own, in eighths. So memory is refused in this order: first caches,
 * then captures and conversions, then new stacks, then the rest of the agent's work. Each refusal is counted. */
#ifndef CORE_MEMORY_ACCOUNT_H
#define CORE_MEMORY_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum memory_use {
	MEMORY_CACHE, /* names of functions, kept for the next chunk; up to 4/8 */
	MEMORY_CAPTURE, /* captures, and the work of the endpoint's and the destinations' threads; up to 6/8 */
	MEMORY_STACK, /* stacks, contexts, thread names and script functions; up to 7/8 */
	MEMORY_WORK, /* all other work of the agent's thread; up to MEMORY_RESERVE_BYTES beyond the bound */
	MEMORY_USES
};

/* The end of a report needs memory for a moment, such as for names of frames and packed symbols. Without it all samples
 * of the report would be lost. */
#define MEMORY_RESERVE_BYTES ((uint64_t)8 << 20)

extern const char *const memory_use_names[MEMORY_USES];

/* Bytes by kind. */
struct memory_account {
	uint64_t limit; /* 0: none */
	uint64_t heap, tables, captures;
	uint64_t signal_stacks; /* these two do not count for the limit */
	uint64_t engine;
	uint64_t refused[MEMORY_USES]; /* number of refusals since the agent's start */
};

/* Set the bound (0: none) and the kernel's page size, and start with an empty account. On the agent's thread, before it allocates much. */
void memory_account_open(uint64_t limit, size_t page);

/* The functions below may be called by any thread, also inside the agent's malloc; up to memory_add_capture() they are
 * async-signal-safe.
 *
 * Return the bytes that USE may allocate now; UINT64_MAX without a bound. */
uint64_t memory_room(enum memory_use use);

/* True when USE may allocate BYTES now. Otherwise the refusal is counted. */
bool memory_is_granted(enum memory_use use, uint64_t bytes);

/* Return BYTES, a table's size; COUNT eighths of the bound if that is less. */
uint64_t memory_eighths(unsigned count, uint64_t bytes);

/* Return the most that COUNT entries at random positions of a table of BYTES use: one page for each. */
uint64_t memory_of_entries(uint64_t count, uint64_t bytes);

/* Count a refusal. */
void memory_count_refusal(enum memory_use use);

/* Return the number of refusals of all uses but MEMORY_CACHE: dropped names are read again. */
uint64_t memory_refusals(void);

/* Add BYTES to the size of all captures; negative when a capture is closed. */
void memory_add_capture(int64_t bytes);

/* Set the function that returns the bytes of sparse tables that were never written. They do not count where /proc does
 * not show resident pages, as in a process that has changed its user. UNUSED is of the host's side, and called on the
 * agent's thread. */
void memory_set_unused(uint64_t (*unused)(void));

/* Measure the resident pages of the tables. On the agent's thread, about once a second; takes 50 us. */
void memory_measure(void);

/* Measure everything. */
void memory_account_read(struct memory_account *account);

#endif
