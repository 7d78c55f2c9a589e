/* Lists of the machine's sockets in /proc/net, for processes that cannot copy a descriptor. Agent
 * thread only. */
#ifndef ENGINE_WAIT_SOCKET_TABLE_H
#define ENGINE_WAIT_SOCKET_TABLE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

union socket_address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

struct socket_row {
	uint64_t inode;
	int protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	bool has_peer;
	union socket_address address; /* of the peer, or the own one */
};

/* Call VISIT for each socket of TCP and UDP in the network namespace, at most SOCKET_ROWS_MAX. */
#define SOCKET_ROWS_MAX 4096
void socket_table_read(void (*visit)(const struct socket_row *row));

/* Parse a LINE of such a list into *ROW, whose protocol is set. Returns false if it is no socket. */
bool socket_row_parse(struct socket_row *row, const char *line);

#endif
