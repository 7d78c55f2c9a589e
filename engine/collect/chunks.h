/* The open chunks: one of samples, and one of native memory. Agent thread only.
 *
 * Memory events are so many that they have chunks of their own, in a more compact form. These are
 * written to a separate file, and appended to the other chunks when they end. */
#ifndef ENGINE_COLLECT_CHUNKS_H
#define ENGINE_COLLECT_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/jfr/jfr_write.h"
#include "engine/sample/ring.h"
#include "engine/symbols/symbols.h"

struct chunk_setting {
	const char *key;
	char value[64];
};

#define CHUNK_SETTINGS_MAX 12

/* Settings that every chunk has; a key of NULL ends them. */
typedef struct chunk_setting chunk_settings[CHUNK_SETTINGS_MAX];

struct chunks {
	struct jfr_writer *jfr; /* NULL: not open */
	chunk_settings settings;
	/* Writer of native memory: JFR itself, or a writer with a file of its own for the open
	 * chunk. */
	struct jfr_writer *mem;
	chunk_settings mem_settings;
	int mem_fd;
	/* Wall clock and monotonic clock, read together at chunks_open(). The chunks' times follow
	 * the monotonic clock, so that a small clock adjustment leaves no gap. After a larger one,
	 * chunks_begin() moves the wall clock's. */
	uint64_t opened_realtime_ns, opened_monotonic_ns;
};

/* Write to the end of the file FD, which the caller still owns. SAMPLES and MEMORY are the settings
 * of each kind of chunk; NULL: no such chunks. HAS_OTHER_ENGINE: the chunks will be merged with those
 * of another engine. Returns 0 (release with chunks_close) or -errno. */
int chunks_open(struct chunks *chunks, int fd, const chunk_settings *samples,
		const chunk_settings *memory, bool has_other_engine);

/* Set the settings of the chunks that begin later; of the same kinds as at chunks_open(). */
void chunks_set_settings(struct chunks *chunks, const chunk_settings samples,
			 const chunk_settings memory);

/* An open chunk stays unfinished in the file. */
void chunks_close(struct chunks *chunks);

/* Begin a chunk of each kind. Returns 0 or -errno. */
int chunks_begin(struct chunks *chunks);

/* Drop the names of threads, which otherwise outlive a chunk. */
void chunks_forget_threads(struct chunks *chunks);

/* Write the modules, resolve the frames' names by SYMBOLS, and finish the chunks at TICKS. Returns
 * 0, or -errno if a chunk is lost. */
int chunks_end(struct chunks *chunks, struct symbols *symbols, uint64_t ticks);

/* True when a chunk has almost no room for more stacks. */
bool chunks_are_crowded(const struct chunks *chunks);

/* The current time on the chunks' wall clock. */
uint64_t chunks_now_ns(const struct chunks *chunks);

/* True when native memory has a writer of its own. */
bool chunks_mem_is_apart(const struct chunks *chunks);

/* Write the name of thread TID to each chunk. */
void chunks_name_thread(struct chunks *chunks, pid_t tid, const char *name);

/* Like chunks_name_thread(), with the kernel's name; does nothing when the thread has ended. */
void chunks_name_living_thread(struct chunks *chunks, pid_t tid);

/* Write the crash of SAMPLE, a SAMPLE_CRASH. */
void chunks_crash(struct chunks *chunks, const struct sample *sample);

#endif
