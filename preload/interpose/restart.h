/* Restarts a call that a sample interrupted, and no signal of the program.
 *
 * A sample leaves a note (sample_note.h). Its signal may also be dropped after it has interrupted the call
 * (core/timer/dropped_signals.h).
 *
 * The restarted call goes to the next definition of its function (real.h), like the first one: the C library and
 * other preloads see the same as without samples.
 *
 * A signal of the program ends the call at any time. A handler that began before the restart is counted. One that
 * begins later, before the thread is in the kernel again, would not be noticed. Then its entry (program_handler.h)
 * creates a timer, whose signal interrupts the call again, and the interposer returns EINTR. */
#ifndef PRELOAD_INTERPOSE_RESTART_H
#define PRELOAD_INTERPOSE_RESTART_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#include "core/timer/dropped_signals.h"
#include "preload/interpose/sample_note.h"

/* State of one call, from before its first try to its end. */
struct restart {
	unsigned long handled, notes;
	uint64_t dropped; /* dropped_signals_count() */
	int error;        /* errno before the call */
	bool is_on;       /* the call was restarted; OUTER is valid */
	uintptr_t outer;  /* frame of the restarted call that this call is part of; 0: none */
};

/* Frame of the interposer whose call the thread is in; 0: none. The sampling signal's handler continues a call that has none
 * (unseen_call.h). After siglongjmp(3) out of a call it may be too high, until an outer interposer returns. */
extern __thread uintptr_t interposed_frame;

/* Begin a call of FRAME. Returns what interposed_end() restores. */
static inline uintptr_t interposed_begin(uintptr_t frame)
{
	uintptr_t outer = interposed_frame;

	interposed_frame = frame;
	return outer;
}

static inline void interposed_end(uintptr_t outer)
{
	interposed_frame = outer;
}

/* Return the state before the first try. */
static inline struct restart restart_prepare(void)
{
	return (struct restart){ .handled = program_handled,
				 .notes = sample_note.count,
				 .dropped = dropped_signals_count(),
				 .error = errno };
}

/* True if a sample, or its dropped signal, may have interrupted the call of FRAME or cut it short. */
static inline bool restart_may_follow(const struct restart *restart, uintptr_t frame)
{
	return sample_is_noted(restart->notes, frame) || dropped_signals_since(restart->dropped);
}

/* After a try that was interrupted or cut short. FRAME is the interposer's. Returns true when only a sample was the
 * cause: then the caller makes the next try, and later calls restart_end(). */
bool restart_next(struct restart *restart, uintptr_t frame);

/* After the last try of a restarted call. Restores errno from before the first try, unless the call has FAILED. */
void restart_end(struct restart *restart, bool failed);

/* Wait at most NS until READY has its events, within such a call. Without the C library, because the program does not make
 * this call. A cancellation point. Returns the same as ppoll(2), or -errno. */
long restart_wait_ready(struct pollfd *ready, uint64_t ns);

/* At the beginning of a handler of the program that interrupted the thread at SP, but not at the end of an
 * interrupted call. Async-signal-safe. */
void restart_program_handler(uintptr_t sp);

/* In a sampling signal's handler: true when INFO is from the timer described above, which takes no sample.
 * Async-signal-safe. */
bool restart_is_timer(const siginfo_t *info);

/* No such timer uses SIGNO from now on. Returns false when one still does after a moment. Async-signal-safe. */
bool restart_exclude_signal(int signo);

/* Such timers may use SIGNO again. Async-signal-safe. */
void restart_include_signal(int signo);

/* Reset the state in a forked child: the parent's timers do not exist there. */
void restart_after_fork(void);

/* The value of FIRST. If a sample interrupted it, the value of AGAIN, which is repeated as long as only samples
 * interrupt it, and then ENDED is evaluated. INTERRUPTED, FAILED and ENDED are expressions of value_. */
#define RESTART_THEN(interrupted, failed, ended, first, again)          \
	({                                                              \
		struct restart restart_ = restart_prepare();            \
		uintptr_t interposed_ = interposed_begin(SAMPLE_FRAME); \
		__typeof__(first) value_ = (first);                     \
                                                                        \
		while (__builtin_expect((interrupted), 0) &&            \
		       restart_next(&restart_, SAMPLE_FRAME))           \
			value_ = (again);                               \
		if (__builtin_expect(restart_.is_on, 0)) {              \
			restart_end(&restart_, (failed));               \
			ended;                                          \
		}                                                       \
		interposed_end(interposed_);                            \
		value_;                                                 \
	})

#define RESTART_WHILE(interrupted, failed, first, again) \
	RESTART_THEN(interrupted, failed, (void)0, first, again)

/* The same for calls that fail with -1 and errno; and for calls that are repeated with the same arguments. */
#define RESTART(first, again) \
	RESTART_WHILE(value_ == -1 && errno == EINTR, value_ == -1, first, again)
#define RESTART_SAME(call) RESTART(call, call)

#endif
