/* Detection of a seccomp filter that the program adds, where no interposer sees the call. */
#ifndef ENGINE_COLLECT_CONFINEMENT_H
#define ENGINE_COLLECT_CONFINEMENT_H

#include <stdbool.h>

/* True when a thread has more seccomp filters than any thread had at the first call of this function: the filter may end
 * the process for a system call of the sampling handler. A call looks at the main thread and at a few others in turn,
 * the first one at all that are sampled. Agent thread. */
bool confinement_has_grown(void);

/* Number of filters, or the mode on kernels before 5.9, in TEXT, the contents of /proc/PID/status; 0 without. For tests. */
unsigned confinement_parse(const char *text);

#endif
