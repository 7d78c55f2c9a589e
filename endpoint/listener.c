/* Listening socket of the live endpoint. */
#include "endpoint/listener.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"
#include "core/random.h"
#include "core/system.h"
#include "upload/files/dir.h"
#include "upload/files/place.h"

#define RUN_DIR   "/run"
#define OWN_NAME  "asprof-agent"
#define LIVE_NAME "live"
#define SUFFIX    ".sock"

/* Maximum number of connections that wait for accept4(). */
#define BACKLOG 128

/* Minimum age of a socket that is removed: between bind(2) and listen(2) a socket looks dead. */
#define SWEEP_AGE_SECONDS 10

/* Maximum number of inspected directory entries. */
#define SWEEP_MAX 10000

/* Source: linux/highuid.h, DEFAULT_OVERFLOWUID. */
#define OVERFLOW_UID 65534

static char *runtime_dir; /* $XDG_RUNTIME_DIR; NULL: not set or relative */

void listener_capture(char *const *environment)
{
	static const char name[] = "XDG_RUNTIME_DIR=";

	free(runtime_dir);
	runtime_dir = NULL;
	for (; *environment; environment++)
		if (!strncmp(*environment, name, strlen(name)) &&
		    (*environment)[strlen(name)] == '/') {
			runtime_dir = strdup(*environment + strlen(name));
			return;
		}
}

static int socket_address_set(struct sockaddr_un *address, const char *path)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	strcpy(address->sun_path, path);
	return 0;
}

/* True if the process that listened at PATH has ended. */
static bool socket_is_dead(const char *path)
{
	struct sockaddr_un address;
	bool dead;
	int fd;

	if (socket_address_set(&address, path))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	dead = connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno == ECONNREFUSED;
	close(fd);
	return dead;
}

/* True for the name of an `auto` socket, such as "1234-0123456789abcdef.sock". */
static bool socket_name_is_auto(const char *name)
{
	size_t pid = strspn(name, "0123456789"), rest;

	if (!pid || name[pid] != '-')
		return false;
	rest = strspn(name + pid + 1, "0123456789abcdef");
	return rest == 16 && !strcmp(name + pid + 1 + rest, SUFFIX);
}

/* True if a process has the id in NAME. Such a socket is not tried: otherwise each new process would disturb all
 * running ones. If the id was reused, the socket stays as long as the new process. A socket with this process's own
 * id belongs to another pid namespace or to an earlier process.
 *
 * /proc is not read for this. A lookup there of a process that is ending drops its entries, while its parent drops
 * them too, and spins. */
static bool socket_owner_may_live(const char *name)
{
	int pid = atoi(name);

	return pid != getpid() && kernel_call4(SYS_tgkill, pid, pid, 0, 0) != -ESRCH;
}

/* Remove the sockets of dead processes from the directory DIR, whose path is PATH. */
static void dead_sockets_remove(int dir, const char *path)
{
	time_t now = (time_t)(clock_realtime_ns() / 1000000000u);
	int err, inspected = 0;
	DIR *listing = dir_list(dir, &err);
	struct dirent *entry;
	char file[PATH_MAX];
	struct stat st;

	if (!listing)
		return;
	while ((entry = readdir(listing)) && inspected++ < SWEEP_MAX) {
		if (!socket_name_is_auto(entry->d_name) || socket_owner_may_live(entry->d_name) ||
		    (size_t)snprintf(file, sizeof(file), "%s/%s", path, entry->d_name) >=
			    sizeof(file) ||
		    fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISSOCK(st.st_mode) || now - st.st_mtime < SWEEP_AGE_SECONDS)
			continue;
		if (socket_is_dead(file))
			unlinkat(dir, entry->d_name, 0);
	}
	closedir(listing);
}

/* Create a Unix socket that listens at PATH. Returns its descriptor, or -errno. */
static int unix_socket_listen(const char *path)
{
	struct sockaddr_un address;
	int err = socket_address_set(&address, path), fd;

	if (err)
		return err;
	fd = fd_raise(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return fd;
	/* Linux gives the path the mode of the socket (net/unix/af_unix.c, unix_bind_bsd). A chmod(2) of the path could
	 * change another file that replaced the socket. */
	err = fchmod(fd, 0600) || bind(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno
											 : 0;
	if (!err) {
		err = listen(fd, BACKLOG) ? -errno : 0;
		if (err)
			unlink(path);
	}
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Listen in the directory PATH, whose descriptor is DIR. Closes DIR. */
static int auto_socket_listen(struct listener *listener, int dir, const char *path)
{
	uint64_t number;
	int length;

	dead_sockets_remove(dir, path);
	close(dir);
	/* A process in another pid namespace may have the same id. */
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = random_below(UINT64_MAX) ^ clock_realtime_ns();
	length = snprintf(listener->path, sizeof(listener->path), "%s/%d-%016llx" SUFFIX, path,
			  getpid(), (unsigned long long)number);
	if (length < 0 || (size_t)length >= sizeof(listener->path))
		return -ENAMETOOLONG;
	listener->fd = unix_socket_listen(listener->path);
	return listener->fd < 0 ? listener->fd : 0;
}

/* Listen in the private directory PARENT/NAME; create it if it is missing. */
static int listen_in_subdirectory(struct listener *listener, const char *parent, const char *name)
{
	char path[PATH_MAX];
	int dir;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", parent, name) >= sizeof(path))
		return -ENAMETOOLONG;
	dir = dir_make_private(parent, name);
	return dir < 0 ? dir : auto_socket_listen(listener, dir, path);
}

static int listen_in_private_place(struct listener *listener)
{
	char *path = NULL;
	int dir = place_private(&path), err = dir;

	if (dir >= 0) {
		close(dir);
		err = listen_in_subdirectory(listener, path, LIVE_NAME);
	}
	free(path);
	return err;
}

/* True if PATH is a directory of the effective user. A program that changed its user may still have the
 * $XDG_RUNTIME_DIR of its former user. */
static bool directory_is_own(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static int listen_auto(struct listener *listener)
{
	int err = listen_in_subdirectory(listener, RUN_DIR, OWN_NAME);

	if (err && runtime_dir && directory_is_own(runtime_dir))
		err = listen_in_subdirectory(listener, runtime_dir, OWN_NAME);
	return err ? listen_in_private_place(listener) : 0;
}

static int listen_at_path(struct listener *listener, const char *path)
{
	struct stat st;

	snprintf(listener->path, sizeof(listener->path), "%s", path);
	listener->fd = unix_socket_listen(path);
	if (listener->fd == -EADDRINUSE && !lstat(path, &st) && S_ISSOCK(st.st_mode) &&
	    socket_is_dead(path)) {
		unlink(path);
		listener->fd = unix_socket_listen(path);
	}
	return listener->fd < 0 ? listener->fd : 0;
}

/* Parse TEXT, "HOST:PORT", which check_listen() has accepted. Returns the length of ADDRESS, or 0. */
static socklen_t tcp_address_parse(const char *text, struct sockaddr_storage *address)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
	struct sockaddr_in *four = (struct sockaddr_in *)address;
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	uint16_t port = (uint16_t)atoi(colon + 1);

	memset(address, 0, sizeof(*address));
	if (text[0] == '[') {
		snprintf(host, sizeof(host), "%.*s", (int)(colon - text - 2), text + 1);
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		return inet_pton(AF_INET6, host, &six->sin6_addr) == 1 ? sizeof(*six) : 0;
	}
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	four->sin_family = AF_INET;
	four->sin_port = htons(port);
	return inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1",
			 &four->sin_addr) == 1
		       ? sizeof(*four)
		       : 0;
}

static int listen_at_address(struct listener *listener, const char *text)
{
	struct sockaddr_storage address;
	socklen_t length = tcp_address_parse(text, &address);
	int fd, one = 1, err;

	snprintf(listener->path, sizeof(listener->path), "%s", text);
	if (!length)
		return -EINVAL;
	fd = fd_raise(socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	err = bind(fd, (struct sockaddr *)&address, length) || listen(fd, BACKLOG) ? -errno : 0;
	if (err)
		close(fd);
	else
		listener->fd = fd;
	return err;
}

int listener_open(struct listener *listener, const struct config *config)
{
	*listener = (struct listener){ .fd = -1 };
	listener->is_unix = true;
	if (!strcmp(config->listen, "auto"))
		return listen_auto(listener);
	if (!strncmp(config->listen, "unix:", strlen("unix:")))
		return listen_at_path(listener, config->listen + strlen("unix:"));
	listener->is_unix = false;
	return listen_at_address(listener, config->listen);
}

void listener_close(struct listener *listener)
{
	if (listener->fd < 0)
		return;
	if (listener->is_unix)
		unlink(listener->path);
	close(listener->fd);
	listener->fd = -1;
}

/* True in a user namespace that does not know all users. */
static bool users_are_mapped(void)
{
	static const char map[] = "/proc/self/uid_map";
	int fd = fd_raise(open(map, O_RDONLY | O_CLOEXEC));
	unsigned first = 0, above = 0, count = UINT32_MAX;
	char text[64] = "";

	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) > 0)
		sscanf(text, "%u %u %u", &first, &above, &count);
	close(fd);
	return count != UINT32_MAX;
}

/* True for a peer of a user namespace above this one, such as the machine's root, for a process of a container. The kernel
 * reports it as the overflow user. It could connect by its capabilities alone, as only the owner may use the socket. */
static bool peer_is_above(const struct listener *listener, uid_t uid)
{
	struct stat st;

	return uid == OVERFLOW_UID && users_are_mapped() && !stat(listener->path, &st) &&
	       S_ISSOCK(st.st_mode) && !(st.st_mode & 077) &&
	       (st.st_uid == 0 || st.st_uid == geteuid());
}

bool listener_admits(const struct listener *listener, int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (!listener->is_unix)
		return true;
	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) &&
	       (peer.uid == 0 || peer.uid == geteuid() || peer_is_above(listener, peer.uid));
}
