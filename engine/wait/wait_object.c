/* Objects of waits: files, and peers of sockets. */
#include "engine/wait/wait_object.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/units.h"
#include "engine/process/proc_file.h"
#include "engine/wait/socket_table.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Sockets whose peers are remembered, by inode. */
#define PEERS 256

/* Reading the lists of sockets takes milliseconds. On average it may use this part of one
 * processor, 1 / READ_PART, and at once what it has not used in READ_BURST_NS. */
#define READ_PART     200
#define READ_BURST_NS SECONDS(10)

static struct peer {
	uint64_t inode; /* 0: free */
	bool is_unix;
	bool is_read;      /* the lists have been read since the socket was first seen */
	bool is_listener;  /* no peer */
	bool is_ambiguous; /* the list has different rows for it */
	char text[128];    /* "" if it is not known */
} peers[PEERS];

static uint64_t peers_due_ns; /* the lists are not read earlier */

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

static bool peer_is_wanted(uint64_t inode)
{
	return peers[inode % PEERS].inode == inode && !peers[inode % PEERS].is_read;
}

static bool peers_need_list(bool is_unix)
{
	for (size_t i = 0; i < PEERS; i++)
		if (peers[i].inode && !peers[i].is_read && peers[i].is_unix == is_unix &&
		    (is_unix || !peers[i].text[0]))
			return true;
	return false;
}

/* Returns true if the list may have more wanted sockets. Any user can add rows to the list of Unix sockets, with any
 * inode: the kernel does not escape a newline in a path. So the list is read to its end, and two names of a socket are
 * none. */
static bool peer_set(uint64_t inode, const struct socket_row *row)
{
	struct peer *peer = &peers[inode % PEERS];
	bool is_unix = row->address.any.sa_family == AF_UNIX;
	char text[WAIT_OBJECT_MAX];

	if (peer->is_unix != is_unix)
		return true;
	wait_object_of_address(&row->address.any, row->size, row->protocol, text);
	text[sizeof(peer->text) - 1] = '\0';
	peer->is_ambiguous |= peer->text[0] && strcmp(peer->text, text);
	peer->is_listener = !row->has_peer && !peer->is_ambiguous;
	strcpy(peer->text, text);
	return is_unix || peers_need_list(false);
}

/* The program's sockets are not used, not even a copy of one: until the copy is closed, a close by the program would
 * not end the connection or free the port. */
static void peers_read(void)
{
	static bool is_logged;
	uint64_t begin_ns = clock_cpu_ns(), now_ns = clock_monotonic_ns();

	if (!socket_table_read(proc_file_open, peers_need_list, peer_is_wanted, peer_set) &&
	    !is_logged) {
		is_logged = true;
		log_warn("the system has more than %u sockets: the peers of some are unknown",
			 SOCKET_ROWS_MAX);
	}
	for (size_t i = 0; i < PEERS; i++)
		peers[i].is_read = true;
	if (peers_due_ns + READ_BURST_NS < now_ns)
		peers_due_ns = now_ns - READ_BURST_NS;
	peers_due_ns += (clock_cpu_ns() - begin_ns) * READ_PART;
}

/* True if the descriptor, whose file in /proc is NAME, is a Unix socket. */
static bool socket_is_unix(pid_t tid, const char *name)
{
	char protocol[32];

	return proc_attribute_read_of(tid, name, "system.sockprotoname", protocol,
				      sizeof(protocol)) > 0 &&
	       !strncmp(protocol, "UNIX", 4);
}

/* A socket that was not in the lists when they were read stays unknown until the peers are forgotten. */
static enum wait_object_kind describe_socket(pid_t tid, const char *name, uint64_t inode,
					     char text[WAIT_OBJECT_MAX])
{
	struct peer *peer = &peers[inode % PEERS];

	if (peer->inode != inode)
		*peer = (struct peer){ .inode = inode, .is_unix = socket_is_unix(tid, name) };
	if (!peer->is_read && clock_monotonic_ns() >= peers_due_ns)
		peers_read();
	snprintf(text, WAIT_OBJECT_MAX, "%s", peer->is_ambiguous ? "" : peer->text);
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
		kind = describe_socket(tid, name, strtoull(text + strlen("socket:["), NULL, 10),
				       text);
	return kind;
}

void wait_object_forget(void)
{
	memset(peers, 0, sizeof(peers));
}
