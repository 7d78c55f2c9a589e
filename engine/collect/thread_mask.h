/* Signal masks of the program's threads. Agent thread. */
#ifndef ENGINE_COLLECT_THREAD_MASK_H
#define ENGINE_COLLECT_THREAD_MASK_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/sample/thread_clock.h"

/* Whether thread TID of this process holds SIGNO. A thread that waits for a processor may do so at the end of
 * rt_sigtimedwait(2), where /proc shows neither the call nor its mask. SIGNAL_NOT_HELD if there is no /proc. */
enum signal_hold thread_mask_hold(pid_t tid, int signo);

/* True if the mask of thread TID has SIGNO, as the kernel shows it: in rt_sigtimedwait(2) without the awaited signals. */
bool thread_mask_has(pid_t tid, int signo);

#endif
