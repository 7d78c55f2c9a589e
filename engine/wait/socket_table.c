/* Lists of the machine's sockets in /proc/net. */
#include "engine/wait/socket_table.h"

#include <stdio.h>
#include <string.h>

#include "engine/process/proc_file.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct {
	const char *path;
	int protocol;
} files[] = {
	{ "/proc/thread-self/net/tcp", IPPROTO_TCP },
	{ "/proc/thread-self/net/tcp6", IPPROTO_TCP },
	{ "/proc/thread-self/net/udp", IPPROTO_UDP },
	{ "/proc/thread-self/net/udp6", IPPROTO_UDP },
};

#define STATE_ESTABLISHED 1

/* HEX has the words of an address, each as a number of this processor. */
static bool address_parse(union socket_address *address, const char *hex, unsigned port)
{
	uint32_t words[4];
	size_t count = strlen(hex) / 8;

	memset(address, 0, sizeof(*address));
	if (count != 1 && count != 4)
		return false;
	for (size_t i = 0; i < count; i++)
		if (sscanf(hex + 8 * i, "%8x", &words[i]) != 1)
			return false;
	if (count == 1) {
		address->in.sin_family = AF_INET;
		address->in.sin_port = htons((uint16_t)port);
		memcpy(&address->in.sin_addr, words, 4);
	} else {
		address->in6.sin6_family = AF_INET6;
		address->in6.sin6_port = htons((uint16_t)port);
		memcpy(&address->in6.sin6_addr, words, 16);
	}
	return true;
}

bool socket_row_parse(struct socket_row *row, const char *line)
{
	char own[33], peer[33];
	unsigned own_port, peer_port, state;
	unsigned long long inode;

	if (sscanf(line, "%*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*s %*s %*s %*u %*u %llu", own,
		   &own_port, peer, &peer_port, &state, &inode) != 6)
		return false;
	row->inode = inode;
	row->has_peer = state == STATE_ESTABLISHED;
	return row->has_peer ? address_parse(&row->address, peer, peer_port)
			     : address_parse(&row->address, own, own_port);
}

void socket_table_read(void (*visit)(const struct socket_row *row))
{
	unsigned rows = 0;
	char line[512];

	for (size_t i = 0; i < COUNT(files); i++) {
		struct socket_row row = { .protocol = files[i].protocol };
		FILE *file = proc_file_open(files[i].path);

		while (file && rows < SOCKET_ROWS_MAX && fgets(line, sizeof(line), file)) {
			rows++;
			if (socket_row_parse(&row, line))
				visit(&row);
		}
		if (file)
			fclose(file);
	}
}
