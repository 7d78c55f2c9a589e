/* Privileges of the agent's threads: never more than the program's.
 *
 * In the kernel, users, groups and capabilities belong to a thread. The C library changes them in all threads,
 * including the agent's. A direct system call changes the calling thread only. An agent that stayed root would let
 * an attacker of the program regain root. So own threads compare themselves with the program's threads, and drop
 * what none of these has. */
#ifndef CORE_PRIVILEGES_H
#define CORE_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Longest time between two checks by an own thread, also while it waits. A thread that is registered
 * (core/agent/waiters.h) need not check: the agent's main thread wakes it. A check takes 20 us. */
#define PRIVILEGES_CHECK_NS 500000000u

/* In an own thread or an engine's thread: drop what no thread of the program has. AT_ONCE: check now. Otherwise
 * check when PRIVILEGES_CHECK_NS have passed or privileges_changed() was called since the last check.
 *
 * Returns 0, or -errno when the thread has more than the program and cannot drop it, or cannot find out. Then the
 * thread must do nothing more for the program. */
int privileges_follow(bool at_once);

/* Return when the calling thread must check again (monotonic clock). That is now before its first check, and never
 * when it has nothing to drop. */
uint64_t privileges_due_ns(void);

/* IS_WOKEN: from now on another thread wakes the calling thread when there is something to drop, so it need not
 * check by itself. Otherwise it must check again. */
void privileges_set_woken(bool is_woken);

/* True when TID is an own thread, or a thread of an engine that has called privileges_follow(). False for threads of
 * the program. */
bool privileges_is_checker(pid_t tid);

/* Return the number of these threads. Async-signal-safe. */
uint32_t privileges_checker_count(void);

/* True when the calling thread has dropped something since its last call of this function. */
bool privileges_were_dropped(void);

/* The program may have dropped something: all threads that call privileges_follow() check the next time. Returns the
 * number of this change. Async-signal-safe, as are the next two. */
uint32_t privileges_changed(void);

/* True when all of them have checked since CHANGE, or have dropped nothing since. */
bool privileges_are_followed(uint32_t change);

/* True when a successful call of the program may leave own threads more privileged than every thread of the program.
 * At most three short system calls.
 *
 * REGAINING_CAPS: the calling thread has lost nothing if it still has these and all capabilities of the own threads.
 * IN_EVERY_THREAD: the call changed all threads of the program; otherwise only the calling one. Then the process
 * loses something only by the holder: the program's thread that had all privileges of the own threads at the last
 * check. */
bool privileges_are_lost(uint64_t regaining_caps, bool in_every_thread);

/* A new agent starts: the holder is unknown until its first check. */
void privileges_restart(void);

/* Reset the state in a forked child, which has no own threads. */
void privileges_forget(void);

#endif
