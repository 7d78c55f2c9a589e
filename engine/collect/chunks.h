/* The chunks that are being written: one of samples, and one of native memory. Agent thread only.
 *
 * Memory events come in such numbers that they have chunks of their own, which are more compact.
 * Those are written into a file of their own, and moved behind the others when they end. */
#ifndef ENGINE_COLLECT_CHUNKS_H
#define ENGINE_COLLECT_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/agent/running_files.h"
#include "engine/jfr/jfr_write.h"
#include "engine/sample/ring.h"
#include "engine/symbols/symbols.h"

struct chunk_setting {
	const char *key;
	char value[64];
};

#define CHUNK_SETTINGS_MAX 12

/* Settings that stand in every chunk; a key of NULL ends them. */
typedef struct chunk_setting chunk_settings[CHUNK_SETTINGS_MAX];

struct chunks {
	struct jfr_writer *jfr; /* NULL: not open */
	chunk_settings settings;
	/* Of native memory: JFR itself, or one with a file of its own for the chunk that is open. */
	struct jfr_writer *mem;
	chunk_settings mem_settings;
	int mem_fd;
	/* Wall clock and monotonic clock read together when opened: a chunk's times follow the
	 * monotonic one, so that a clock that is set does not tear a hole. */
	uint64_t opened_realtime_ns, opened_monotonic_ns;
	/* Where they are kept for who comes after this process; NULL: nowhere. */
	struct kept *kept;
	bool kept_as_memory;    /* JFR's file is that of native memory there */
	uint64_t kept_bytes[2]; /* that were told of */
};

/* Write to the end of the file FD, which stays the caller's. SAMPLES and MEMORY are the settings of
 * either kind of chunk, NULL where there will be none. BESIDE_ANOTHER: the file's chunks will be
 * put beside those of another engine. Returns 0 (release with chunks_close) or -errno. */
int chunks_open(struct chunks *chunks, int fd, const chunk_settings *samples,
		const chunk_settings *memory, bool beside_another);

/* A chunk that is open stays in the file unfinished. */
void chunks_close(struct chunks *chunks);

/* Begin a chunk of each. Returns 0 or -errno. */
int chunks_begin(struct chunks *chunks);

/* Write the modules, and the names of the frames by SYMBOLS, and finish the chunks at TICKS.
 * Returns 0, or -errno: a chunk is lost. */
int chunks_end(struct chunks *chunks, struct symbols *symbols, uint64_t ticks);

/* The wall clock as the chunks have it. */
uint64_t chunks_now_ns(const struct chunks *chunks);

/* Whether native memory has a writer of its own. */
bool chunks_mem_is_apart(const struct chunks *chunks);

/* Name thread TID in each. */
void chunks_name_thread(struct chunks *chunks, pid_t tid, const char *name);

/* The same, as the kernel names it; nothing where it has ended. */
void chunks_name_living_thread(struct chunks *chunks, pid_t tid);

/* Write the crash that SAMPLE, a SAMPLE_CRASH, tells of. */
void chunks_crash(struct chunks *chunks, const struct sample *sample);

#endif
