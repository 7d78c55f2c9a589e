/* Timers that request samples of one thread: a cpu_timer for CPU time, single shots for the wall
 * clock. Samples that are still due when the thread ends are recorded then. */
#ifndef ENGINE_SAMPLE_THREAD_CLOCK_H
#define ENGINE_SAMPLE_THREAD_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/timer/cpu_timer.h"

enum clock_kind {
	CLOCK_OF_CPU,  /* the thread's CPU time */
	CLOCK_OF_WALL, /* the wall clock */
};

/* The signal's value is the address of the thread's slot, with the kind in these bits. */
#define CLOCK_KIND_BITS ((uintptr_t)1)

/* A thread holds a signal that it blocks or waits for: sigwaitinfo(2) or a signalfd of the program would take it. */
enum signal_hold {
	SIGNAL_NOT_HELD,
	SIGNAL_MAY_BE_HELD,
	SIGNAL_HELD,
	SIGNAL_HELD_ALWAYS, /* the thread waits for such signals again and again */
};

struct thread_clock {
	struct cpu_timer cpu;
	struct thread_timer wall;
	_Atomic bool refused;   /* it has no timer for its CPU time, which could not be created */
	enum signal_hold hold;  /* when that was last known */
	uint64_t checked_ns;    /* the CPU time then */
	_Atomic bool under_way; /* a wall-clock signal was requested and has not arrived yet */
};

/* Settings of all threads' timers. */
struct thread_timers {
	int signo;
	uint64_t cpu_interval_ns; /* UINT64_MAX: none */
	/* Whether thread TID holds SIGNO. NULL: none does, as interposers hide the signal from the program. Agent thread. */
	enum signal_hold (*hold)(pid_t tid, int signo);
};

/* Set the settings of all clocks that are started later. */
void thread_clock_open(const struct thread_timers *timers);

/* Set the CPU interval of all clocks that are started later. */
void thread_clock_set_interval(uint64_t cpu_interval_ns);

/* Never start a timer again. Async-signal-safe, as is thread_clock_disarm(), which disarms the
 * timers of one running clock. */
void thread_clock_forbid(void);
void thread_clock_disarm(struct thread_clock *clock);

/* Initialize the clock of thread TID, without timers. VALUE is the value of its signals. */
void thread_clock_init(struct thread_clock *clock, pid_t tid, uintptr_t value);

/* Start requesting CPU samples, unless the thread holds the signal. BORN: the caller is the thread itself, at its start. */
void thread_clock_start(struct thread_clock *clock, bool born);

/* Stop requesting CPU samples, until thread_clock_start(). A requested wall-clock sample still arrives. */
void thread_clock_pause(struct thread_clock *clock);

/* True while a signal of a paused CLOCK is expected. */
bool thread_clock_expects_signal(const struct thread_clock *clock);

/* Stop requesting samples and delete the timers. */
void thread_clock_stop(struct thread_clock *clock);

/* The same after the thread's end, or in the thread itself: it is in no call of the program. */
void thread_clock_end(struct thread_clock *clock);

/* The thread's CPU time so far in nanoseconds; 0 when the thread is gone. */
uint64_t thread_clock_cpu(const struct thread_clock *clock);

/* Interrupt the thread once, now, for a wall-clock sample. The sample must show what the thread does
 * at the moment of its visit: a thread that ran since the last visit may sleep a millisecond later.
 * Returns false if that is impossible, or if the thread holds the signal. */
bool thread_clock_interrupt(struct thread_clock *clock);

/* True from thread_clock_interrupt() until thread_clock_interrupted(). */
bool thread_clock_is_under_way(const struct thread_clock *clock);

/* In the handler: the wall-clock signal has arrived. Async-signal-safe. */
void thread_clock_interrupted(struct thread_clock *clock);

/* In the handler: the wall-clock signal has arrived too early. It arrives again after AFTER_NS. Async-signal-safe. */
void thread_clock_interrupt_again(struct thread_clock *clock, uint64_t after_ns);

/* Delete the CPU timer of a thread that holds the signal now; thread_clock_spare() creates it again. Agent thread. */
void thread_clock_follow_mask(struct thread_clock *clock);

/* While timers are scarce (core/signal_share.h), delete the wall-clock timer, which is created
 * again on demand. Otherwise create the CPU timer if it was refused before. Agent thread. */
void thread_clock_spare(struct thread_clock *clock);

#endif
