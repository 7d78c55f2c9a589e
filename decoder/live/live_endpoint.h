/* The live endpoints of running processes, found through /proc: whatever directory, mount or pid namespace they
 * are in. */
#ifndef DECODER_LIVE_LIVE_ENDPOINT_H
#define DECODER_LIVE_LIVE_ENDPOINT_H

#include <stdbool.h>
#include <sys/types.h>

/* Room for words on what was wrong. */
#define FIND_PROBLEM_MAX 512

/* Connect to the endpoint of process PID. Returns the socket, or -errno with words in PROBLEM: -ESRCH, no such
 * process; -ENOENT, it is not profiled; -ENOTCONN, it is, and has no endpoint; -EACCES, it is another user's. */
int find_connect(pid_t pid, char problem[FIND_PROBLEM_MAX]);

/* Call EACH for every process that can be seen and that has a thread of the agent's, in the order of numbers. */
void find_each(void (*each)(void *context, pid_t pid), void *context);

/* The token that an endpoint at an address wants, of the environment; NULL: none. */
const char *live_endpoint_token(void);

#endif
