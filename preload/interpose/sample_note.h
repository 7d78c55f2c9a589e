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

/* The thread's innermost wait with a signal mask of its own. When a sample interrupts it, the kernel restores the
 * thread's mask as soon as our handler returns. A pending signal that only the wait blocks would be delivered before
 * the wait is restarted. So our handler blocks such signals in the thread, until the wait ends. A handler of the program
 * that interrupts the wait finds the thread's mask without them. (If a second handler begins before the first instruction
 * of that one, the second one's copy of the mask has them. That is so without samples too.) */
extern __thread struct masked_wait {
	/* Where the kernel reads the mask or, in a structure, its address; NULL: no wait. */
	const void *place;
	unsigned long handled; /* program_handled before the wait */
	uint64_t added;        /* signals that our handler has blocked */
} masked_wait;

/* Returns the outer wait, which a handler of the program has interrupted. */
static inline struct masked_wait masked_wait_begin(const void *place)
{
	struct masked_wait outer = masked_wait;

	if (place)
		masked_wait = (struct masked_wait){ .place = place, .handled = program_handled };
	return outer;
}

/* Preserves errno. */
void masked_wait_unblock(void);

static inline void masked_wait_end(const void *place, const struct masked_wait *outer)
{
	if (!place)
		return;
	if (__builtin_expect(masked_wait.added != 0, 0))
		masked_wait_unblock();
	masked_wait = *outer;
}

/* Evaluates CALL, a wait, with PLACE noted as the place of its mask; NULL: the wait has no mask of its own. */
#define WITH_MASK(place, call)                                         \
	({                                                             \
		const void *place_ = (place);                          \
		struct masked_wait outer_ = masked_wait_begin(place_); \
		__typeof__(call) result_ = (call);                     \
                                                                       \
		masked_wait_end(place_, &outer_);                      \
		result_;                                               \
	})

#endif
