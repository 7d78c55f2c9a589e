/* exec, by the C library or by syscall(2). */
#ifndef PRELOAD_INTERPOSE_EXEC_H
#define PRELOAD_INTERPOSE_EXEC_H

#include <stdbool.h>

/* Before an exec: notify the agent that this program ends. Returns true when this process had an agent of its own,
 * not only its parent. */
bool exec_begin(void);

/* After a failed exec: the profile continues if exec_begin() returned true (WAS_ARMED). Preserves errno. */
void exec_failed(bool was_armed);

#endif
