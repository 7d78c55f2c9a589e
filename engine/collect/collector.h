/* The collector: writes the samples of the rings to the chunks of the recording. Agent thread
 * only. */
#ifndef ENGINE_COLLECT_COLLECTOR_H
#define ENGINE_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/engine.h"
#include "engine/collect/chunks.h"

/* Begin the first chunks at the end of the file FD, which the caller still owns. The other
 * parameters are those of chunks_open(). Returns 0 or -errno. */
int collector_start(int fd, const chunk_settings *samples, const chunk_settings *memory,
		    bool has_other_engine);

/* Write the samples of the rings, and do the periodic work of each second. */
void collector_drain(uint64_t now_ns);

/* Size of the open chunk of native memory, if it has a file of its own until it ends; else 0. */
uint64_t collector_mem_bytes(void);

/* Finish the last chunk of a report and begin the next. Returns 0, or -errno: the chunk is lost, or
 * the next one could not be opened. In the second case samples are dropped until a later call opens
 * one. */
int collector_rotate(void);

/* Finish a chunk that is not the last of the report, and begin the next. Such a chunk does not list
 * the retained memory. Returns 0 or -errno; the next collector_rotate() returns an error, too. */
int collector_end_chunk(void);

/* The same, and give the next chunks these settings. */
int collector_change_settings(const chunk_settings samples, const chunk_settings memory);

/* Finish the chunk early when its table of stacks is nearly full, and begin the next one of the
 * same report. At most EARLY_CHUNKS_MAX times per report. The next collector_rotate() returns an
 * error. */
void collector_split_if_full(void);

/* Finish the last chunk, after sampling has stopped. Returns 0, or -errno if the chunk is lost. */
int collector_stop(void);

/* Samples written since collector_start(), and lost samples. A sample is lost when its ring is
 * full, or when its weight exceeds the limit of one signal. */
uint64_t collector_samples(void);
uint64_t collector_lost(void);

/* Lost samples by kind, since collector_start(). Losses in chunks are counted when the chunk is finished. */
void collector_losses(struct engine_losses *losses);

#endif
