/* What a start command asks of the builtin engine: "event=cpu,interval=10ms,wall=1s,…". */
#ifndef ENGINE_COLLECT_START_REQUEST_H
#define ENGINE_COLLECT_START_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/asprof.h"

#define ENGINE_OFF        UINT64_MAX
#define START_FILE_MAX    4096
#define START_PROBLEM_MAX 256

/* Shorter intervals are refused: the kernel's timers come some milliseconds apart, and each would
 * bring more samples than can be written until the next. */
#define START_INTERVAL_MIN_NS 10000

struct engine_start {
	bool cpu;             /* event=cpu, not event=wall */
	uint64_t interval_ns; /* of CPU time, or ENGINE_OFF */
	uint64_t wall_ns;     /* or ENGINE_OFF */
	uint64_t mem_bytes;   /* or ENGINE_OFF; 0: every allocation */
	char cstack[16], file[START_FILE_MAX];
};

/* Read OPTIONS, which are separated by commas. One that is not known is meant for async-profiler,
 * mostly: OUTPUT is told that it is ignored. Returns 0, or -errno with words for it in PROBLEM. */
int start_request_read(struct engine_start *out, const char *options, asprof_writer_t output,
		       char problem[START_PROBLEM_MAX]);

#endif
