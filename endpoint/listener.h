/* Listening socket of the live endpoint: creation, removal, and check of its peers. */
#ifndef ENDPOINT_LISTENER_H
#define ENDPOINT_LISTENER_H

#include <limits.h>
#include <stdbool.h>

#include "core/options/config.h"

struct listener {
	int fd;              /* -1: not listening */
	bool is_unix;        /* a Unix socket, where the kernel reports the peer's user */
	char path[PATH_MAX]; /* of the Unix socket; else the TCP address, for messages */
};

/* Save XDG_RUNTIME_DIR of ENVIRONMENT. Called when the agent's image starts. */
void listener_capture(char *const *environment);

/* Listen at config->listen. `auto` is a Unix socket in the first usable private directory of this user:
 *
 * * /run/asprof-agent;
 * * asprof-agent in $XDG_RUNTIME_DIR;
 * * live in the directory of place_private().
 *
 * Sockets that dead processes left there are removed. Returns 0 (release with listener_close()), or -errno. */
int listener_open(struct listener *listener, const struct config *config);

/* Close the socket and unlink its path. */
void listener_close(struct listener *listener);

/* True if the peer of FD, accepted from LISTENER, may use the endpoint. At a Unix socket only this process's user
 * and root may, and who has the rights of root in a user namespace above this one. */
bool listener_admits(const struct listener *listener, int fd);

#endif
