/* Wall-clock sampling: counts every thread once per interval, and interrupts a sleeping thread only
 * once. Agent thread only. */
#ifndef ENGINE_COLLECT_WALL_H
#define ENGINE_COLLECT_WALL_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/collect/wall_owner.h"
#include "engine/collect/wall_place.h"
#include "engine/jfr/jfr_write.h"
#include "engine/sample/ring.h"
#include "engine/sample/threads.h"
#include "engine/symbols/symbols.h"
#include "engine/wait/wait_look.h"

/* Waits at visits before the last one that a requested sample stands for: the handler's budget may delay a sample, and the
 * thread then waits for one thing after the other. */
#define WALL_EARLIER_MAX 3
struct wall_earlier {
	struct wait wait; /* unknown: none */
	uint32_t visits;
};

/* Wall-clock state of the thread in a slot. */
struct thread_wall {
	bool known;                 /* the thread sleeps in the stack below, as far as known */
	bool settled;               /* it has not run since then, as was checked */
	bool asked;                 /* a sample was requested: see wall_is_asked() in wall.c */
	bool truncated;             /* the stack is truncated */
	uint32_t depth;             /* of the stack */
	uintptr_t *pcs;             /* malloc'd; the context follows */
	uint8_t context;            /* length of the context in words; see ring.h */
	uint64_t cpu_ns;            /* the thread's CPU time at that sample, or at the last check */
	uint64_t due_ns;            /* next visit (monotonic); 0: not chosen yet */
	uint32_t owed[WAIT_STATES]; /* visits that the requested sample stands for, by state */
	struct wait asked_wait;     /* at the last of these visits that found it waiting */
	struct wall_earlier earlier[WALL_EARLIER_MAX]; /* elsewhere; not in OWED */
	struct wait wait;              /* at the known place; unknown until it is looked at */
	struct wait_seen seen;         /* see wait_look() */
	struct wall_place place;       /* of the known stack */
	struct wall_place asked_place; /* of asked_wait */
	uint8_t loop_end; /* last known end of a wait for descriptors: see wait_cause() */
	struct wall_owner *owner, *asked_owner; /* of the locks in both waits; NULL: none */
	uint32_t samples;                       /* number counted since the last event */
	uint64_t first, last;                   /* ticks of the first and the last of these */
};

/* The state of T, valid until the next call for another thread; NULL when out of memory. */
struct thread_wall *wall_state(const struct thread *t);

/* Time of T in the run queue since its start, at the last look that read it; 0: none. */
uint64_t wall_queue_ns(const struct thread *t);

/* Visit every thread each INTERVAL_NS from now on; UINT64_MAX: never. */
void wall_start(uint64_t interval_ns);

/* Change the interval at NOW_NS, after the chunk has ended. The time until the next visit of each thread changes in
 * proportion: the visits stay spread over the interval. So does the number of visits whose sample has not arrived: they
 * stand for the same time. */
void wall_change(uint64_t interval_ns, uint64_t now_ns);
void wall_stop(void);

/* From now on, visits may write to JFR; SYMBOLS recognize the functions that wait. NULL: none. */
void wall_open(struct jfr_writer *jfr, struct symbols *symbols);

/* Visit the threads that are due. Returns the time of the next visit (monotonic). */
uint64_t wall_visit(uint64_t now_ns);

/* Visit every thread once now, regardless of the interval. */
void wall_visit_all(void);

/* Number of threads whose requested sample, by signal SIGNO, has not arrived yet. If few are
 * pending, threads that block SIGNO are not counted. */
unsigned wall_count_pending(int signo);

/* Process a sample of kind SAMPLE_WALL from the ring. */
void wall_record(struct jfr_writer *jfr, const struct sample *sample);

/* Write the counted samples of every thread since its last event, at the end of a chunk. */
void wall_flush(struct jfr_writer *jfr);

/* Move every known stack to the new frame table, if there is an old one. */
void wall_keep_frames(void);

/* At the end of a report: write the waits whose requested sample has not arrived, with the place of the call as their stack. A
 * thread that blocks the signal, or that the kernel does not interrupt, may never take it. */
void wall_write_waits(struct jfr_writer *jfr);

/* Number of visits whose requested sample has not arrived, and that no event counts. */
uint64_t wall_owed(void);

/* Write and free the state of a thread that has ended, before its slot is reaped. Returns the same number for this thread. */
uint64_t wall_end(struct jfr_writer *jfr, struct thread *thread);

#endif
