/* What the sampling signals' handler leaves for the interposer whose call it interrupted, and how that
 * reads it. */
#ifndef PRELOAD_INTERPOSE_SAMPLE_NOTE_H
#define PRELOAD_INTERPOSE_SAMPLE_NOTE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* How many of the program's handlers have begun in this thread: program_handler.c counts them. */
extern __thread unsigned long program_handled;

/* What a sample has left for the interposer whose call it, and nothing else, interrupted last, or may
 * have ended before its work was done: where the stack pointer was in that, 0 for none; and what
 * errno was before. */
extern __thread uintptr_t sample_interrupted;
extern __thread int sample_errno;

/* Before a call. Returns how many handlers of the program have begun: if there are more when it is
 * made again, it ends (restart.h). */
static inline unsigned long sample_begin(void)
{
	sample_interrupted = 0;
	return program_handled;
}

/* A handler's frame takes more than this: the x86-64 kernel writes at least 1080 bytes and
 * aarch64 4.5 KiB. The frames of the C library between an interposer and its system call take
 * less. So a note from nearer is of our own call, and not of one that was made in a handler of
 * the program that interrupted it. */
#define SAMPLE_NEAR 1024

/* After a call. FRAME: the interposer's. True when a sample may be why it did not do more. */
static inline bool sample_ended_it(uintptr_t frame)
{
	return sample_interrupted && frame - sample_interrupted < SAMPLE_NEAR;
}

/* After a call failed. */
static inline bool sample_interrupted_alone(uintptr_t frame)
{
	return errno == EINTR && sample_ended_it(frame);
}

#define SAMPLE_FRAME ((uintptr_t)__builtin_frame_address(0))

#endif
