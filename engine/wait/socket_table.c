/* Lists of sockets in /proc/net. */
#include "engine/wait/socket_table.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* For a list of TCP, the kernel searches a large hash table, even if it is nearly empty: milliseconds. So they come last.
 * Fields are counted from 0. */
static const struct {
	const char *path;
	int protocol;
	unsigned inode_field;
	bool (*parse)(struct socket_row *row, const char *line);
} files[] = {
	{ "/proc/thread-self/net/udp", IPPROTO_UDP, 9, socket_row_parse_inet },
	{ "/proc/thread-self/net/udp6", IPPROTO_UDP, 9, socket_row_parse_inet },
	{ "/proc/thread-self/net/unix", 0, 6, socket_row_parse_unix },
	{ "/proc/thread-self/net/tcp", IPPROTO_TCP, 9, socket_row_parse_inet },
	{ "/proc/thread-self/net/tcp6", IPPROTO_TCP, 9, socket_row_parse_inet },
};

/* HEX has the words of an address, each as a number of this processor. */
static bool address_parse(struct socket_row *row, const char *hex, unsigned port)
{
	union socket_address *address = &row->address;
	uint32_t words[4];
	size_t count = strlen(hex) / 8;

	memset(address, 0, sizeof(*address));
	if (count != 1 && count != 4)
		return false;
	for (size_t i = 0; i < count; i++)
		if (sscanf(hex + 8 * i, "%8x", &words[i]) != 1)
			return false;
	if (count == 1) {
		row->size = sizeof(address->in);
		address->in.sin_family = AF_INET;
		address->in.sin_port = htons((uint16_t)port);
		memcpy(&address->in.sin_addr, words, 4);
	} else {
		row->size = sizeof(address->in6);
		address->in6.sin6_family = AF_INET6;
		address->in6.sin6_port = htons((uint16_t)port);
		memcpy(&address->in6.sin6_addr, words, 16);
	}
	return true;
}

bool socket_row_parse_inet(struct socket_row *row, const char *line)
{
	unsigned own_port, peer_port;
	char own[33], peer[33];

	if (sscanf(line, "%*u: %32[0-9A-F]:%x %32[0-9A-F]:%x", own, &own_port, peer, &peer_port) !=
	    4)
		return false;
	row->has_peer = peer_port != 0;
	return row->has_peer ? address_parse(row, peer, peer_port)
			     : address_parse(row, own, own_port);
}

#define STATE_UNCONNECTED 1 /* SS_UNCONNECTED */

bool socket_row_parse_unix(struct socket_row *row, const char *line)
{
	struct sockaddr_un *un = &row->address.un;
	unsigned state;
	int begin = 0;

	if (sscanf(line, "%*x: %*x %*x %*x %*x %x %*u%n", &state, &begin) != 1 || !begin)
		return false;
	row->has_peer = state != STATE_UNCONNECTED;
	begin += line[begin] == ' ';
	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	row->size =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + strcspn(line + begin, "\n"));
	if (row->size > sizeof(*un))
		row->size = sizeof(*un);
	memcpy(un->sun_path, line + begin, row->size - offsetof(struct sockaddr_un, sun_path));
	return true;
}

uint64_t socket_row_inode(const char *line, unsigned field)
{
	for (unsigned i = 0; i < field; i++) {
		line += strspn(line, " ");
		line += strcspn(line, " ");
	}
	return strtoull(line, NULL, 10);
}

/* *ROWS is decremented for each row. */
static void read_rows(FILE *file, size_t list, unsigned *rows, bool (*is_wanted)(uint64_t inode),
		      bool (*visit)(uint64_t inode, const struct socket_row *row))
{
	struct socket_row row = { .protocol = files[list].protocol };
	char line[512];

	while (*rows && fgets(line, sizeof(line), file)) {
		uint64_t inode = socket_row_inode(line, files[list].inode_field);

		--*rows;
		if (inode && is_wanted(inode) && files[list].parse(&row, line) &&
		    !visit(inode, &row))
			return;
	}
}

bool socket_table_read(FILE *(*open_list)(const char *path), bool (*needs_list)(bool is_unix),
		       bool (*is_wanted)(uint64_t inode),
		       bool (*visit)(uint64_t inode, const struct socket_row *row))
{
	unsigned rows = SOCKET_ROWS_MAX;

	for (size_t i = 0; i < COUNT(files) && rows; i++) {
		FILE *file = needs_list(!files[i].protocol) ? open_list(files[i].path) : NULL;

		if (!file)
			continue;
		read_rows(file, i, &rows, is_wanted, visit);
		fclose(file);
	}
	return rows || !(needs_list(true) || needs_list(false));
}
