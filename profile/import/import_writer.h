/* Recording that an import writes: frames and stacks by their text, samples with weights. */
#ifndef PROFILE_IMPORT_IMPORT_WRITER_H
#define PROFILE_IMPORT_IMPORT_WRITER_H

#include "core/buf.h"
#include "engine/jfr/jfr_write.h"
#include "profile/basics/intern.h"

/* Further frames of a stack, the outermost ones, are omitted. */
#define IMPORT_DEPTH_MAX 4096

struct import_text {
	const char *text; /* not NUL-terminated */
	size_t length;
};

struct import_frame {
	struct import_text name, module; /* module: a library or a file; may be empty */
	enum jfr_frame_type type;
	uint32_t line; /* 0: unknown */
};

/* Kinds of samples. */
enum import_kind { IMPORT_CPU, IMPORT_WALL, IMPORT_MEMORY };

struct import_sample {
	enum import_kind kind;
	int64_t time_ns; /* since 1970 */
	uint32_t tid;    /* 0: unknown */
	struct import_text thread;
	struct import_text labels; /* lines of "key=value", each with its newline */
	uint64_t count;            /* samples, or allocations */
	uint64_t bytes;            /* IMPORT_MEMORY: of all allocations */
	bool is_freed;             /* IMPORT_MEMORY */
};

/* One thread uses a writer. Errors are kept: import_writer_close() returns the first one. */
struct import_writer {
	struct jfr_writer *jfr;
	struct intern names;  /* NUL-terminated by intern() */
	struct intern frames; /* struct import_frame_key; IDs are the program counters */
	struct intern threads;
	uintptr_t *pcs; /* of the current stack, leaf first */
	size_t depth;
	bool is_open; /* a chunk is open */
	uint64_t first_ns, last_ns;
	uint64_t interval_ns, wall_ns;
	uint64_t next_address;
	uint64_t count, bytes; /* sums of the samples */
	uint64_t size_left;    /* bytes of stacks and labels; 0: there were too many */
	int err;
};

/* Write an input of LENGTH bytes to FD. Few bytes can stand for large stacks and labels, so their sum
 * is limited. Returns 0 or -ENOMEM; call import_writer_close() in any case. */
int import_writer_open(struct import_writer *w, int fd, size_t length);

/* Sampling intervals, before the first sample; 0: unknown. */
void import_writer_set_intervals(struct import_writer *w, uint64_t cpu_ns, uint64_t wall_ns);

/* Start a stack, and add its frames, leaf first. */
void import_stack_begin(struct import_writer *w);
void import_stack_add(struct import_writer *w, const struct import_frame *frame);

/* The same by the ID of a frame, which import_frame_id() returned. 0 is ignored. */
uint32_t import_frame_id(struct import_writer *w, const struct import_frame *frame);
void import_stack_add_id(struct import_writer *w, uint32_t id);

/* False if further frames of the current stack would be omitted, or the next sample fails. */
static inline bool import_stack_has_space(const struct import_writer *w)
{
	return w->depth < IMPORT_DEPTH_MAX && w->size_left;
}

/* Count SIZE bytes of stacks and labels. Returns false if there are too many. */
bool import_take_size(struct import_writer *w, size_t size);

/* Write a sample of the current stack. Returns 0, or -ERANGE with the sum of the weights, stacks or
 * labels too large. */
#define IMPORT_TOO_LARGE "weights, stacks or labels that are too large"
int import_write_sample(struct import_writer *w, const struct import_sample *sample);

/* Set the duration of the recording; without it, it lasts until the last sample. */
void import_writer_set_duration(struct import_writer *w, uint64_t duration_ns);

/* Finish the recording. Returns 0 or the first error, -errno. */
int import_writer_close(struct import_writer *w);

#endif
