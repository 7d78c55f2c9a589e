/* What only memory has of the chunks that are being written goes to the journal of the running recording,
 * where one is kept (core/agent/running_files.h). Agent thread only. */
#ifndef ENGINE_COLLECT_KEEPING_H
#define ENGINE_COLLECT_KEEPING_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/collect/chunks.h"

/* ---- Payloads of its records ---- */

/* JOURNAL_MARK: all that came before belongs together. */
struct keeping_mark {
	uint64_t events[2]; /* bytes of the chunks of either writer */
	uint64_t now_ns;    /* wall clock, of the chunk's own counting */
	uint64_t ticks;
	uint64_t samples, lost; /* of the chunk so far */
};

/* JOURNAL_SLEEPER: what a thread owes to the recording, in place of what was told of SLOT before. */
struct keeping_sleeper {
	uint32_t slot, stack;
	int32_t tid;
	uint32_t samples; /* 0: nothing any more */
	uint64_t first, last;
	uint32_t context, unused;
};

/* JOURNAL_MODULES: all that a chunk's samples may be in, each with its path behind it, without a NUL, in
 * place of those told before. */
struct keeping_module {
	uint64_t start, end, bias, file_offset;
	uint8_t build_id[32];
	uint32_t build_id_size, path_length;
};

/* JOURNAL_FRAME: what a program counter is that stands for a script's frame; then its name and its file,
 * a NUL behind each. */
struct keeping_frame {
	uint64_t pc;
	uint32_t line, unused;
};

/* ---- */

/* CHUNKS have begun. Where they are not kept this and the next do nothing. */
void keeping_begin(struct chunks *chunks);

/* Tell what has come since; MODULES: those that are mapped have changed. SAMPLES and LOST: of the chunk. */
void keeping_mark(struct chunks *chunks, bool modules, uint64_t samples, uint64_t lost);

/* Release what it has. */
void keeping_end(void);

#endif
