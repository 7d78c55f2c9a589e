/* From rings to chunks: takes samples out of the rings and writes them into the recording.
 * Agent thread only. */
#ifndef ENGINE_COLLECTOR_H
#define ENGINE_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/chunks.h"

/* Begin the first chunk at the end of the file FD, which stays the caller's. Native memory has
 * chunks of its own, behind the others; settings are NULL where no such samples will come.
 * BESIDE_ANOTHER: the file's chunks will be put beside those of another engine. Returns 0 or
 * -errno. */
int collector_start(int fd, const chunk_settings *samples, const chunk_settings *memory,
		    bool beside_another);

/* Take what the rings hold, and do what is due each second. */
void collector_drain(uint64_t now_ns);

/* Finish the chunk and begin the next. Returns 0, or -errno: the chunk is lost, and when the
 * next cannot begin either the collector is stopped. */
int collector_rotate(void);

/* Finish the last chunk, when no new samples come any more. Returns 0 or -errno. */
int collector_stop(void);

/* Samples written since the process began, and those that were lost on the way. */
uint64_t collector_samples(void);
uint64_t collector_lost(void);

#endif
