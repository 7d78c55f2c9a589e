/* Whether the agent can be put into a running process. */
#ifndef DECODER_LIVE_ATTACHABLE_H
#define DECODER_LIVE_ATTACHABLE_H

#include <stdbool.h>
#include <sys/types.h>

#define ATTACHABLE_PROBLEM_MAX 512

/* Check process PID, without an effect on it. IS_FORCED: its seccomp filters do not matter.
 * Returns 0, or -errno with the reason and a remedy in PROBLEM, a part of a sentence. */
int attachable_check(pid_t pid, bool is_forced, char problem[ATTACHABLE_PROBLEM_MAX]);

#endif
