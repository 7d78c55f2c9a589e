/* From rings to chunks: takes samples out of the rings and writes them into the recording.
 * Agent thread only. */
#ifndef ENGINE_COLLECT_COLLECTOR_H
#define ENGINE_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/engine.h"
#include "engine/collect/chunks.h"

/* Begin the first chunks at the end of the file FD, which stays the caller's; the rest is as
 * chunks_open() has it. Returns 0 or -errno. */
int collector_start(int fd, const chunk_settings *samples, const chunk_settings *memory,
		    bool beside_another);

/* Take what the rings hold, and do what is due each second. */
void collector_drain(uint64_t now_ns);

/* Whether the chunks are kept for who comes after this process; then what the rings hold, which is not,
 * is to be taken more often. */
bool collector_is_kept(void);

/* Finish the chunk and begin the next. Returns 0, or -errno: then the chunk is lost, or there is no
 * next one, and samples are dropped until a later call can begin it. */
int collector_rotate(void);

/* Finish the last chunk; no new samples may come any more. Returns 0, or -errno: the chunk is
 * lost. */
int collector_stop(void);

/* Samples written since the process began, and those that were lost: in the rings, or because they
 * came so late that they are not worth telling one by one. */
uint64_t collector_samples(void);
uint64_t collector_lost(void);

/* What was lost, by kind; of what the chunks had no room for, up to the last one that is finished. */
void collector_losses(struct engine_losses *losses);

#endif
