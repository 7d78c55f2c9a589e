/* Detection of the program's end when its last thread calls exit(2) directly. No interposer sees that call, and the
 * process continues while own threads live. Agent thread only. */
#ifndef CORE_AGENT_LAST_THREAD_H
#define CORE_AGENT_LAST_THREAD_H

#include <stdbool.h>

/* True when the program has no thread any more; false when this is not known. One system call while the main thread
 * lives. */
bool last_thread_is_gone(void);

/* End the process by exit_group(2), with the status of its main thread. A later status of another thread is not
 * known; the C library's threads end with 0, as the own threads do. A sandbox is not checked for exit_group(2),
 * because programs end by it too. */
void last_thread_end_process(void);

#endif
