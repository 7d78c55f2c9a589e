/* What the agent's threads may do: never more than the program.
 *
 * Users, groups and capabilities are of a thread, for the kernel. The C library changes them in every
 * thread, ours included; a program that asks the kernel itself changes its own thread alone, and an
 * agent that stayed root beside it would be a way back for whoever gets into the program. So our
 * threads look at the program's, and give up what none of those has any more. */
#ifndef CORE_PRIVILEGES_H
#define CORE_PRIVILEGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A thread of ours looks at least this often, also while it waits for something; or, with a tenth of it more, goes by
 * the look of another that had what it has: a look takes the kernel 20 us, most of it to write /proc's text. */
#define PRIVILEGES_CHECK_NS 500000000u

/* In a thread of ours, or of an engine: give up what no thread of the program has. Looks AT_ONCE,
 * else when the last look was that long ago or privileges_changed() was called since. Returns 0; or
 * -errno when it has more than the program and cannot give it up, or cannot tell: then the thread must
 * not do anything for the program any more. */
int privileges_follow(bool at_once);

/* The same, for a thread that has no time for it, and does nothing that what it may do matters to: looks when it is
 * called first, and when privileges_changed() was called since, or another thread of ours had to give something up. */
int privileges_follow_others(void);

/* When the calling thread is to look again (monotonic clock): now, where it never has; never, where
 * there is nothing that could be given up. */
uint64_t privileges_due_ns(void);

/* How often privileges may have changed, by what is known here. A thread that has called privileges_follow() has
 * followed as many as there were then: it says so in *FOLLOWED, where one is named (NULL: nowhere). */
uint32_t privileges_changes(void);
void privileges_set_woken(_Atomic uint32_t *followed);

/* Whether TID is a thread of ours, or of an engine's that has called privileges_follow(), and none of the program's. */
bool privileges_is_checker(pid_t tid);

/* How many of them there are. Async-signal-safe. */
uint32_t privileges_checker_count(void);

/* Whether the calling thread has given something up since it asked last. */
bool privileges_gave_up(void);

/* The program may have given something up: all that call privileges_follow() look next time.
 * Async-signal-safe. */
void privileges_changed(void);

/* In a forked child: no thread of ours is there. */
void privileges_forget(void);

#endif
