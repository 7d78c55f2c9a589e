/* The slots of threads: an array that grows by blocks and never moves, and a stack of those that
 * are free. Nobody waits for anybody; all but what takes and gives is async-signal-safe. */
#ifndef ENGINE_SAMPLE_THREAD_SLOTS_H
#define ENGINE_SAMPLE_THREAD_SLOTS_H

#include "engine/sample/threads.h"

/* A slot for thread TID, with nothing known of it, or NULL when there is no room. FOUND: it is not
 * the thread itself that takes it. */
struct thread *thread_slot_take(pid_t tid, bool found);

/* Stop its clock and free it. */
void thread_slot_give(struct thread *t);

/* The slots that are taken, one after the other: *AT begins at 0. NULL behind the last. */
struct thread *thread_slot_next(uint32_t *at);

/* The slot of TID, which has not ended, or NULL. */
struct thread *thread_slot_of(pid_t tid);

/* True when a slot is at ADDRESS: a signal's value is looked at before it is believed. */
bool thread_slot_is(uintptr_t address);

/* How many are taken. */
uint32_t thread_slot_count(void);

#endif
