/* Objects of waits: files, and peers of sockets. */
#include "engine/wait/wait_object.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/own_fds.h"
#include "engine/process/proc_file.h"
#include "engine/wait/socket_table.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Sockets whose peers are remembered, by inode. */
#define PEERS 256

#define TABLE_INTERVAL_NS 1000000000u

static struct peer {
	uint64_t inode; /* 0: free */
	bool is_listener;
	char text[128];
} peers[PEERS];

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_storage storage;
};

static const char *protocol_name(int protocol)
{
	return protocol == IPPROTO_TCP ? "tcp" : protocol == IPPROTO_UDP ? "udp" : "ip";
}

static void describe_unix(const struct sockaddr_un *un, socklen_t size, char *text)
{
	size_t length = size > offsetof(struct sockaddr_un, sun_path)
				? size - offsetof(struct sockaddr_un, sun_path)
				: 0;

	if (length > sizeof(un->sun_path))
		length = sizeof(un->sun_path);
	if (!length) /* neither end has a name */
		snprintf(text, WAIT_OBJECT_MAX, "unix");
	else if (un->sun_path[0])
		snprintf(text, WAIT_OBJECT_MAX, "unix %.*s", (int)length, un->sun_path);
	else
		snprintf(text, WAIT_OBJECT_MAX, "unix @%.*s", (int)length - 1, un->sun_path + 1);
}

void wait_object_of_address(const struct sockaddr *address, socklen_t size, int protocol,
			    char text[WAIT_OBJECT_MAX])
{
	const char *name = protocol_name(protocol);
	char host[INET6_ADDRSTRLEN] = "";
	union address a = { 0 };

	text[0] = '\0';
	if (size > sizeof(a))
		size = sizeof(a);
	memcpy(&a, address, size);
	if (size < sizeof(a.any.sa_family))
		return;
	if (a.any.sa_family == AF_UNIX) {
		describe_unix(&a.un, size, text);
	} else if (a.any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof(host));
		snprintf(text, WAIT_OBJECT_MAX, "%s %s:%u", name, host, ntohs(a.in.sin_port));
	} else if (a.any.sa_family == AF_INET6) {
		bool mapped = IN6_IS_ADDR_V4MAPPED(&a.in6.sin6_addr);

		if (mapped)
			inet_ntop(AF_INET, &a.in6.sin6_addr.s6_addr[12], host, sizeof(host));
		else
			inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof(host));
		snprintf(text, WAIT_OBJECT_MAX, mapped ? "%s %s:%u" : "%s [%s]:%u", name, host,
			 ntohs(a.in6.sin6_port));
	} else if (a.any.sa_family == AF_NETLINK) {
		snprintf(text, WAIT_OBJECT_MAX, "netlink");
	}
}

/* Describe the socket with COPY, a descriptor of the agent. Returns true if it has a peer. */
static bool describe_socket(int copy, char text[WAIT_OBJECT_MAX])
{
	socklen_t size = sizeof(union address), option = sizeof(int);
	int protocol = 0;
	union address a;
	bool has_peer;

	getsockopt(copy, SOL_SOCKET, SO_PROTOCOL, &protocol, &option);
	has_peer = !getpeername(copy, &a.any, &size);
	if (has_peer && a.any.sa_family == AF_UNIX &&
	    size <= offsetof(struct sockaddr_un, sun_path)) { /* a server's end has the name */
		size = sizeof(a);
		if (getsockname(copy, &a.any, &size))
			return true;
	}
	if (!has_peer) {
		size = sizeof(a);
		if (getsockname(copy, &a.any, &size))
			return false;
	}
	wait_object_of_address(&a.any, size, protocol, text);
	return has_peer;
}

static void peer_set(uint64_t inode, bool has_peer, const char *text)
{
	struct peer *peer = &peers[inode % PEERS];

	peer->inode = inode;
	peer->is_listener = !has_peer;
	snprintf(peer->text, sizeof(peer->text), "%.*s", (int)sizeof(peer->text) - 1, text);
}

static void peer_add_row(const struct socket_row *row)
{
	char text[WAIT_OBJECT_MAX];

	wait_object_of_address(&row->address.any, sizeof(row->address), row->protocol, text);
	peer_set(row->inode, row->has_peer, text);
}

/* For a process whose sandbox may forbid the copy of a descriptor. Reading all sockets may take
 * milliseconds. */
static void peers_read_table(void)
{
	static uint64_t due_ns;
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns < due_ns)
		return;
	socket_table_read(peer_add_row);
	due_ns = now_ns + TABLE_INTERVAL_NS;
}

static void peer_find(int fd, uint64_t inode)
{
	char text[WAIT_OBJECT_MAX] = "";
	bool has_peer;
	int copy;

	/* A copy in the program's own table could be seen, and could be closed. */
	copy = own_fds_apart() ? own_fds_of_program(fd) : -1;
	if (copy < 0) {
		peers_read_table();
		return;
	}
	has_peer = describe_socket(copy, text);
	close(copy);
	peer_set(inode, has_peer, text);
}

static enum wait_object_kind describe_socket_of_program(int fd, uint64_t inode,
							char text[WAIT_OBJECT_MAX])
{
	struct peer *peer = &peers[inode % PEERS];

	/* A socket without a peer may have been connected since. */
	if (peer->inode != inode || peer->is_listener)
		peer_find(fd, inode);
	text[0] = '\0';
	if (!inode || peer->inode != inode)
		return WAIT_OBJECT_SOCKET;
	snprintf(text, WAIT_OBJECT_MAX, "%s", peer->text);
	return peer->is_listener ? WAIT_OBJECT_LISTENER : WAIT_OBJECT_SOCKET;
}

/* Targets of the links in /proc/PID/fd. */
static const struct {
	const char *prefix;
	enum wait_object_kind kind;
} links[] = {
	{ "/", WAIT_OBJECT_FILE },
	{ "pipe:", WAIT_OBJECT_PIPE },
	{ "socket:[", WAIT_OBJECT_SOCKET },
	{ "anon_inode:[timerfd]", WAIT_OBJECT_TIMER },
	{ "anon_inode:[eventfd]", WAIT_OBJECT_SEMAPHORE },
	{ "anon_inode:", WAIT_OBJECT_EVENTS },
};

enum wait_object_kind wait_object_of_descriptor(pid_t tid, int fd, char text[WAIT_OBJECT_MAX])
{
	enum wait_object_kind kind = WAIT_OBJECT_NONE;
	char name[32];

	text[0] = '\0';
	if (fd < 0)
		return kind;
	snprintf(name, sizeof(name), "fd/%d", fd);
	if (proc_link_read_of(tid, name, text, WAIT_OBJECT_MAX) <= 0)
		return kind;
	for (size_t i = 0; i < COUNT(links) && !kind; i++)
		if (!strncmp(text, links[i].prefix, strlen(links[i].prefix)))
			kind = links[i].kind;
	if (kind == WAIT_OBJECT_SOCKET)
		kind = describe_socket_of_program(fd, strtoull(text + strlen("socket:["), NULL, 10),
						  text);
	return kind;
}

void wait_object_forget(void)
{
	memset(peers, 0, sizeof(peers));
}
