/* Writes how much time each thread spent on processors, in the run queue and blocked, and for how
 * long the CPU limit kept the process off the processors. Agent thread only. */
#ifndef ENGINE_COLLECT_THREAD_TIMES_H
#define ENGINE_COLLECT_THREAD_TIMES_H

#include "engine/jfr/jfr_write.h"
#include "engine/sample/threads.h"

/* Count from now on. Threads that start later count from their start. */
void thread_times_start(void);
void thread_times_stop(void);

/* Write the times of all threads since the last call, at the end of a report. */
void thread_times_write(struct jfr_writer *jfr);

/* Write the times of a thread that has ended, before its slot is reaped. Its time in the run queue
 * is QUEUE_NS, as far as known. */
void thread_times_end(struct jfr_writer *jfr, struct thread *thread, uint64_t queue_ns);

#endif
