/* Objects of waits: files, and peers of sockets. Agent thread only. */
#ifndef ENGINE_WAIT_WAIT_OBJECT_H
#define ENGINE_WAIT_WAIT_OBJECT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Kind of the file that a descriptor refers to. */
enum wait_object_kind {
	WAIT_OBJECT_NONE, /* not known */
	WAIT_OBJECT_FILE,
	WAIT_OBJECT_PIPE,
	WAIT_OBJECT_SOCKET,    /* with a peer */
	WAIT_OBJECT_LISTENER,  /* a socket without a peer */
	WAIT_OBJECT_TIMER,     /* timerfd */
	WAIT_OBJECT_SEMAPHORE, /* eventfd */
	WAIT_OBJECT_EVENTS,    /* another descriptor of the kernel's events */
};

/* Longer descriptions are cut. */
#define WAIT_OBJECT_MAX 256

/* Describe descriptor FD of thread TID in TEXT: a path, "pipe:[inode]", "tcp ADDRESS:PORT" of the
 * peer or "unix PATH", with the socket's own path. TEXT is empty if nothing is known. The program's
 * descriptor is not used: a socket is found in the lists of /proc/net by its inode. */
enum wait_object_kind wait_object_of_descriptor(pid_t tid, int fd, char text[WAIT_OBJECT_MAX]);

/* Describe the SIZE bytes at ADDRESS, as the arguments of connect(2), for a socket of PROTOCOL
 * (IPPROTO_...). */
void wait_object_of_address(const struct sockaddr *address, socklen_t size, int protocol,
			    char text[WAIT_OBJECT_MAX]);

/* Forget the peers of sockets, whose numbers may be used again. */
void wait_object_forget(void);

#endif
