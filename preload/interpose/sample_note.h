/* Notes of the sampling signal handler about interrupted system calls, for the interposers that made them. */
#ifndef PRELOAD_INTERPOSE_SAMPLE_NOTE_H
#define PRELOAD_INTERPOSE_SAMPLE_NOTE_H

#include <stdbool.h>
#include <stdint.h>

/* Number of the program's handlers that have begun in this thread: program_handler.c counts them. */
extern __thread unsigned long program_handled;

/* The thread's number of notes, and the last note. A note means that only a sample interrupted a system call, or that a
 * sample may have shortened its result. */
extern __thread struct sample_note {
	unsigned long count;
	uintptr_t sp; /* stack pointer in the call */
	int signo;    /* the sample's signal */
} sample_note;

/* Maximum distance from an interposer's frame to the stack pointer in its system call: functions of other preloads
 * may be in between, with buffers on the stack. A handler of the program on another stack is farther away. (A
 * handler on the same stack is counted in program_handled.) */
#define SAMPLE_NEAR 65536

/* True when a sample was noted in the call of the interposer's FRAME, after NOTES notes. */
static inline bool sample_is_noted(unsigned long notes, uintptr_t frame)
{
	return sample_note.count != notes && frame - sample_note.sp < SAMPLE_NEAR;
}

#define SAMPLE_FRAME ((uintptr_t)__builtin_frame_address(0))

#endif
