/* The end of a program whose last thread leaves by exit(2) in code of its own, of which nobody is told: the process goes
 * on while a thread of ours does. Agent thread only. */
#ifndef CORE_AGENT_LAST_THREAD_H
#define CORE_AGENT_LAST_THREAD_H

#include <stdbool.h>

/* Whether the program has no thread any more. One system call while its main thread lives; false where it cannot
 * be told. */
bool last_thread_is_gone(void);

/* Then: end the process, with the status of its main thread. (What another had that ended later is not to be known; the
 * C library's threads end with 0, as ours do.) By exit_group(2), which is not among the calls that a sandbox is asked for:
 * the program ends by it, too. */
void last_thread_end_process(void);

#endif
