/* Signals that take the stack of a waiting thread, or of the owner of its lock. */
#ifndef ENGINE_COLLECT_WALL_INTERRUPT_H
#define ENGINE_COLLECT_WALL_INTERRUPT_H

#include "engine/sample/threads.h"

/* Request a sample of THREAD now. In a program without interposers, note the system call in which THREAD waits first, so
 * that the handler can restart it. Returns false if no signal was sent. On the agent's thread. */
bool wall_interrupt(struct thread *thread);

#endif
