/* Lists of sockets in /proc/net, for their peers without a use of the program's descriptors. Agent thread only. */
#ifndef ENGINE_WAIT_SOCKET_TABLE_H
#define ENGINE_WAIT_SOCKET_TABLE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/un.h>

union socket_address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

struct socket_row {
	bool has_peer;
	int protocol; /* IPPROTO_TCP or IPPROTO_UDP; 0: a Unix socket */
	union socket_address
		address; /* of the peer, or the own one; of a Unix socket always the own one */
	socklen_t size;  /* of the address */
};

/* At most so many rows are read, of all lists together: about 0.4 s of CPU time. */
#define SOCKET_ROWS_MAX (1u << 18)

/* Call VISIT for each socket of TCP and UDP and each Unix socket in the network namespace, if IS_WANTED(its inode). A list
 * is read if NEEDS_LIST(whether it is that of Unix sockets), until VISIT returns false. OPEN_LIST opens a list as
 * proc_file_open(). Returns false if it stopped at SOCKET_ROWS_MAX. */
bool socket_table_read(FILE *(*open_list)(const char *path), bool (*needs_list)(bool is_unix),
		       bool (*is_wanted)(uint64_t inode),
		       bool (*visit)(uint64_t inode, const struct socket_row *row));

/* Return the inode in a LINE of a list, which is its field number FIELD; 0 if there is none. */
uint64_t socket_row_inode(const char *line, unsigned field);

/* Parse a LINE of the lists of TCP and UDP, and of the list of Unix sockets, into *ROW; ROW->protocol is set. Returns
 * false if it is no socket. */
bool socket_row_parse_inet(struct socket_row *row, const char *line);
bool socket_row_parse_unix(struct socket_row *row, const char *line);

#endif
