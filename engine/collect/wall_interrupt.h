/* Signals that take the stack of a waiting thread, or of the owner of its lock, and calls that they interrupt. */
#ifndef ENGINE_COLLECT_WALL_INTERRUPT_H
#define ENGINE_COLLECT_WALL_INTERRUPT_H

#include "engine/sample/threads.h"
#include "engine/wait/wait_look.h"

/* Request a sample of THREAD now. In a program without interposers, note the system call in which THREAD waits first, so
 * that the handler can restart it. Returns false if no signal was sent. On the agent's thread. */
bool wall_interrupt(struct thread *thread);

/* WAIT of THREAD was just found. If the handler continues the noted call, WAIT gets its place and cause instead of those of
 * the handler's call. On the agent's thread. */
void wall_set_continued_call(struct thread *thread, struct wait *wait);

#endif
