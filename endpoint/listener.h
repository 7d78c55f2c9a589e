/* The socket that the live endpoint listens at: made, found dead, and removed. */
#ifndef ENDPOINT_LISTENER_H
#define ENDPOINT_LISTENER_H

#include <limits.h>
#include <stdbool.h>

#include "core/options/config.h"

struct listener {
	int fd;              /* -1: none */
	bool is_unix;        /* peers are asked who they are */
	char path[PATH_MAX]; /* of a Unix socket, to be removed; else the address, for messages */
};

/* Note XDG_RUNTIME_DIR of ENVIRONMENT, in the constructor. */
void listener_capture(char *const *environment);

/* Listen where CONFIG says. `auto` is a socket in the agent's own directory: /run/asprof-agent, asprof-agent
 * in $XDG_RUNTIME_DIR, or live in the user's own directory (place_private()), the first of these that nobody
 * else can have touched; what dead processes left there is removed. Returns 0 (release with
 * listener_close), or -errno. Not for signal context. */
int listener_open(struct listener *listener, const struct config *config);

/* Stop listening; the socket's name goes. */
void listener_close(struct listener *listener);

/* Whether the peer of FD, accepted from LISTENER, may ask: at a Unix socket this process's user and root. */
bool listener_admits(const struct listener *listener, int fd);

#endif
