/* The wall clock: every thread is counted once an interval, and a sleeping one is not woken for
 * it twice. Agent thread only. */
#ifndef ENGINE_COLLECT_WALL_H
#define ENGINE_COLLECT_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/jfr/jfr_write.h"
#include "engine/sample/ring.h"
#include "engine/sample/threads.h"

/* What is known of the wall clock of the thread in a slot. */
struct thread_wall {
	bool known;           /* the stack below is where it sleeps, as far as is known */
	bool settled;         /* it was seen not to run since */
	bool asked;           /* the timer was armed and its sample has not come yet */
	bool truncated;       /* the stack */
	uint32_t depth;       /* of the stack */
	uintptr_t *pcs;       /* malloc'd, with the context behind */
	uint8_t context;      /* words of that; see ring.h */
	uint64_t cpu_ns;      /* the thread's CPU time when that was taken, or last looked at */
	uint64_t due_ns;      /* next visit, monotonic; 0: not yet chosen */
	uint32_t owed;        /* visits that the sample asked for will stand for */
	uint32_t samples;     /* counted since the last event */
	uint64_t first, last; /* ticks of the first and the last of them */
	uint32_t told;        /* of these, by wall_pending() */
};

/* What a thread has that no event tells of yet. */
struct wall_pending {
	size_t slot;
	pid_t tid;
	uint32_t stack;   /* of the chunk */
	uint32_t context; /* likewise */
	uint32_t samples; /* 0: nothing any more */
	uint64_t first, last;
};

/* That of T, valid until the next call for another; NULL without memory. */
struct thread_wall *wall_state(const struct thread *t);

/* Visit every thread each INTERVAL_NS from now on; UINT64_MAX: never. */
void wall_start(uint64_t interval_ns);
void wall_stop(void);

/* Make the visits that are due. Returns when the next ones are (monotonic). */
uint64_t wall_visit(uint64_t now_ns);

/* Visit every thread once more, now, whatever the interval. */
void wall_visit_all(void);

/* Threads that were asked for a sample, by signal SIGNO, which has not come yet; where they are few, without those that
 * block it. */
unsigned wall_count_pending(int signo);

/* A sample of kind SAMPLE_WALL has come out of the ring. */
void wall_record(struct jfr_writer *jfr, const struct sample *sample);

/* Write what was counted for every thread since its last event: at the end of a chunk. */
void wall_flush(struct jfr_writer *jfr);

/* Call EACH for every slot where that is not what it was called with last; ANEW: there was no last time. */
void wall_pending(struct jfr_writer *jfr, bool anew,
		  void (*each)(void *context, const struct wall_pending *pending), void *context);

/* Have every stack that is known lead to the new table of frames, where there is an old one. */
void wall_keep_frames(void);

/* The same for a thread that has ended, before its slot is reaped. */
void wall_end(struct jfr_writer *jfr, struct thread *thread);

#endif
