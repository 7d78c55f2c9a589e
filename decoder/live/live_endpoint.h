/* Live endpoints of running processes in any directory, mount namespace or PID namespace, found through /proc. */
#ifndef DECODER_LIVE_LIVE_ENDPOINT_H
#define DECODER_LIVE_LIVE_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Size of a buffer for a problem's description. */
#define LIVE_PROBLEM_MAX 512

struct live_connection {
	int fd; /* nonblocking socket */
	bool wants_token; /* the endpoint is at a TCP address; for a Unix socket the kernel identifies the caller */
};

/* Connect to the endpoint of process PID, and of no other process, before DEADLINE_NS (monotonic). Returns 0, or
 * -errno with a description in PROBLEM: -ESRCH: no such process; -ENOENT: not profiled; -ENOTCONN: profiled,
 * without endpoint; -EACCES: of another user; -EREMCHG: another process listens at the address. Thread-safe. */
int live_endpoint_connect(pid_t pid, uint64_t deadline_ns, struct live_connection *connection,
			  char problem[LIVE_PROBLEM_MAX]);

struct target; /* decoder/live/target.h */

/* Connect to the Unix socket NAME in the directory DIR, where TARGET and no other process must listen. Returns a nonblocking
 * descriptor, or -errno. */
int live_endpoint_connect_at(const struct target *target, int dir, const char *name,
			     uint64_t deadline_ns);

/* Whether process PID has threads of an agent. */
bool live_endpoint_has_agent(pid_t pid);

/* Wait for EVENTS on FD, as poll(2) does. Returns 0, -ETIMEDOUT after DEADLINE_NS, or another -errno. */
int live_endpoint_poll(int fd, short events, uint64_t deadline_ns);

/* List the PIDs of all visible processes with an agent thread, in ascending order, in OUT (malloc'd).
 * Returns their number. */
size_t live_endpoint_list_processes(pid_t **out);

/* Returns the token for endpoints at TCP addresses, from the environment; NULL: none. */
const char *live_endpoint_token(void);

#endif
