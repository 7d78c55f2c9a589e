/* Timer that requests samples of one thread at exact CPU times.
 *
 * Each interval of the thread's CPU time has one target, uniformly random in it. A sample is due when the thread's
 * CPU clock reaches a target. The kernel checks CPU timers only at its tick. So a CPU timer alone would take samples
 * at places that correlate with ticks. Two kernel timers approach a target:
 *
 * 1. The CPU timer expires some ticks before the target. It never interrupts a waiting thread.
 * 2. The fine timer, of CLOCK_MONOTONIC, covers the rest. The thread may have waited for a processor, so the
 *   signal handler sets it again until the thread's CPU clock has reached the target.
 *
 * When the fine timer has interrupted a wait, the CPU timer alone waits for that target. So there is at most one
 * interrupted wait for each sample. A target that is nearer than these ticks needs the fine timer only. */
#ifndef CORE_TIMER_CPU_TIMER_H
#define CORE_TIMER_CPU_TIMER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/timer/thread_timer.h"

struct cpu_timer {
	struct timer_signal signal;
	uint64_t interval_ns;
	uint64_t seed;     /* of the targets after the first */
	uint64_t first_ns; /* the first target, from the base */
	/* The base is the CPU time at which the first interval begins. 0: stopped, also in memory that fork(2) wiped. */
	_Atomic uint64_t base_ns_plus_one;
	uint64_t begun_ns;      /* when a new thread started the timer; 0: not a new thread */
	_Atomic uint64_t taken; /* samples taken; also the next target's number */
	uint64_t aimed;         /* the number of the target that the kernel timers are set for */
	_Atomic uint64_t expires_ns; /* CPU time for which the CPU timer was last set */
	uint32_t fine_count;         /* expirations of the fine timer for that target */
	uint32_t lead;               /* of the CPU timer, in half ticks */
	struct thread_timer cpu, fine;
	_Atomic bool is_fine_due; /* the fine timer was set, and no signal has arrived since then */
};

/* Choose the position of the next thread's first target in its interval. Without it, all processes would have the
 * same. */
void cpu_timer_seed(void);

/* Prepare TIMER, which has no kernel timer, to send SIGNAL. */
void cpu_timer_init(struct cpu_timer *timer, const struct timer_signal *signal);

/* Create the kernel's CPU timer before it is needed. Returns 0 or -errno. */
int cpu_timer_create(struct cpu_timer *timer);

/* Start with the first interval. IS_NEW: the caller is the thread itself, and its CPU time so far belongs to the
 * first interval. Returns 0, or -errno if there is no kernel timer; then TIMER is stopped. */
int cpu_timer_start(struct cpu_timer *timer, uint64_t interval_ns, bool is_new);

/* True when a sample is due at CPU_NS of the thread's CPU time. Async-signal-safe, as are the rest. */
bool cpu_timer_is_due(const struct cpu_timer *timer, uint64_t cpu_ns);

/* Return the number of samples that are due at CPU_NS. They count as taken. */
uint32_t cpu_timer_advance(struct cpu_timer *timer, uint64_t cpu_ns);

/* In the handler of the timer's signal, in the thread itself: set the kernel timers for the next target. HAS_WAITED: no
 * sample was due, and the signal interrupted a system call. */
void cpu_timer_continue(struct cpu_timer *timer, uint64_t cpu_ns, bool has_waited);

/* At the thread's end, in the thread itself: return the number of samples that are still due. Delete the timers: the
 * kernel would keep them. Most short threads need no other system call for it. */
uint32_t cpu_timer_end(struct cpu_timer *timer);

/* Request no more samples, but keep the kernel timers. */
void cpu_timer_disarm(struct cpu_timer *timer);

/* True if the CPU timer may have expired, or will at one of the next ticks: its signal may be pending. Any thread. */
bool cpu_timer_may_have_expired(const struct cpu_timer *timer);

/* In the handler, while no samples are taken. */
void cpu_timer_signal_arrived(struct cpu_timer *timer);

/* True if the fine timer's signal may still arrive. Any thread. */
bool cpu_timer_expects_fine(const struct cpu_timer *timer);

/* Request no more samples, and delete the CPU timer. The fine timer stays: its signal may be pending for a thread that
 * waits, and the kernel would drop it after it has ended the wait. Any thread. */
void cpu_timer_pause(struct cpu_timer *timer);

/* Request no more samples, and delete the kernel timers. Any thread; the second function is for the thread itself. */
void cpu_timer_stop(struct cpu_timer *timer);
void cpu_timer_stop_own(struct cpu_timer *timer);

#endif
