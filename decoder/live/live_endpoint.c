/* Live endpoints of running processes, found through /proc.
 *
 * The agent's thread has a known name, its sockets have inodes, and the kernel's lists have their addresses. As
 * any process can name a thread so, the peer of each connection is checked; the target's own data is not
 * trusted. */
#include "decoder/live/live_endpoint.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "decoder/live/target.h"

/* Limit of the thread's open sockets. */
#define INODES_MAX 256

struct inodes {
	uint64_t list[INODES_MAX];
	size_t count;
};

static bool thread_has_name(const struct target *target, pid_t tid, const char *name)
{
	char comm[32], path[64];
	FILE *file;
	bool is;

	snprintf(path, sizeof(path), "task/%d/comm", tid);
	file = target_open_text(target, path);
	is = file && fgets(comm, sizeof(comm), file) && strlen(comm) == strlen(name) + 1 &&
	     !strncmp(comm, name, strlen(name));
	if (file)
		fclose(file);
	return is;
}

/* Returns the thread of TARGET with NAME, 0 if there is none, or -errno. */
static pid_t find_thread(const struct target *target, const char *name)
{
	struct dirent *entry;
	pid_t found = 0;
	DIR *dir = target_open_proc_directory(target, "task");

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!found && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		if (tid > 0 && thread_has_name(target, tid, name))
			found = tid;
	}
	closedir(dir);
	return found;
}

/* Read the open sockets of THREAD. */
static int read_inodes(const struct target *thread, struct inodes *inodes)
{
	DIR *dir = target_open_proc_directory(thread, "fd");
	struct dirent *entry;
	char link[64];

	if (!dir)
		return -errno;
	inodes->count = 0;
	while (inodes->count < INODES_MAX && (entry = readdir(dir))) {
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		if (length <= 0)
			continue;
		link[length] = '\0';
		if (sscanf(link, "socket:[%" SCNu64 "]", &inodes->list[inodes->count]) == 1)
			inodes->count++;
	}
	closedir(dir);
	return 0;
}

static bool inodes_contain(const struct inodes *inodes, uint64_t inode)
{
	for (size_t i = 0; i < inodes->count; i++)
		if (inodes->list[i] == inode)
			return true;
	return false;
}

/* Read the path of the next listening socket in LIST that is one of INODES. The path is not trusted: a socket's
 * name can contain a newline and a forged line. Source: net/unix/af_unix.c, unix_seq_show. */
static bool read_unix_path(FILE *list, const struct inodes *inodes, char path[PATH_MAX])
{
	char line[PATH_MAX + 128];
	unsigned flags;
	uint64_t inode;

	while (fgets(line, sizeof(line), list)) {
		int at = 0;

		if (sscanf(line, "%*x: %*x %*x %x %*x %*x %" SCNu64 " %n", &flags, &inode, &at) < 2)
			continue;
		if (!at || !(flags & 0x10000) || line[at] != '/' || !inodes_contain(inodes, inode))
			continue;
		snprintf(path, PATH_MAX, "%.*s", (int)strcspn(line + at, "\n"), line + at);
		return true;
	}
	return false;
}

/* Parse an address of /proc/net/tcp. Its parts are machine words in hexadecimal. Source: net/ipv4/tcp_ipv4.c,
 * get_tcp4_sock. */
static void parse_tcp_address(const char *text, bool six, struct sockaddr_storage *address)
{
	struct sockaddr_in6 *a6 = (struct sockaddr_in6 *)address;
	struct sockaddr_in *a4 = (struct sockaddr_in *)address;
	unsigned word[4] = { 0 }, port = 0;

	memset(address, 0, sizeof(*address));
	if (six) {
		sscanf(text, "%8x%8x%8x%8x:%x", &word[0], &word[1], &word[2], &word[3], &port);
		a6->sin6_family = AF_INET6;
		a6->sin6_port = htons((uint16_t)port);
		memcpy(&a6->sin6_addr, word, sizeof(a6->sin6_addr));
		if (IN6_IS_ADDR_UNSPECIFIED(&a6->sin6_addr))
			a6->sin6_addr = in6addr_loopback;
		return;
	}
	sscanf(text, "%8x:%x", &word[0], &port);
	a4->sin_family = AF_INET;
	a4->sin_port = htons((uint16_t)port);
	a4->sin_addr.s_addr = word[0] ? word[0] : htonl(INADDR_LOOPBACK);
}

static bool find_tcp_address(const struct target *target, const struct inodes *inodes,
			     struct sockaddr_storage *address)
{
	static const char *const names[] = { "net/tcp", "net/tcp6" };
	char line[512], local[64];
	unsigned state;
	uint64_t inode;
	bool found = false;

	for (int six = 0; six < 2 && !found; six++) {
		FILE *list = target_open_text(target, names[six]);

		while (list && !found && fgets(line, sizeof(line), list)) {
			if (sscanf(line, "%*d: %63s %*s %x %*s %*s %*s %*u %*u %" SCNu64, local,
				   &state, &inode) != 3)
				continue;
			found = state == 0x0a && inodes_contain(inodes, inode);
		}
		if (list)
			fclose(list);
		if (found)
			parse_tcp_address(local, six, address);
	}
	return found;
}

/* ---- connections ---- */

int live_endpoint_poll(int fd, short events, uint64_t deadline_ns)
{
	struct pollfd polled = { .fd = fd, .events = events };
	uint64_t now;
	int n;

	do {
		now = clock_monotonic_ns();
		if (now >= deadline_ns)
			return -ETIMEDOUT;
		n = poll(&polled, 1, (int)((deadline_ns - now) / 1000000 + 1));
	} while (!n || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : 0;
}

/* Returns the result of a connect() that poll() has reported as finished. */
static int socket_connect_result(int fd)
{
	socklen_t size = sizeof(int);
	int err = 0;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) ? -errno : -err;
}

/* Returns a descriptor or -errno; -EAGAIN if the backlog of a Unix socket is full. */
static int socket_connect(const struct sockaddr *address, socklen_t length, uint64_t deadline_ns)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	err = connect(fd, address, length) ? -errno : 0;
	if (err == -EINPROGRESS) {
		err = live_endpoint_poll(fd, POLLOUT, deadline_ns);
		if (!err)
			err = socket_connect_result(fd);
	}
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Linux 6.5 */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Whether the process at the other end of FD has ended. Then another process may have its socket or its PID. */
static bool peer_has_ended(int fd)
{
	struct pollfd polled = { .events = POLLIN };
	socklen_t length = sizeof(polled.fd);
	bool ended;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &polled.fd, &length))
		return errno != ENOPROTOOPT;
	ended = poll(&polled, 1, 0) != 0;
	close(polled.fd);
	return ended;
}

/* Whether the peer of FD is TARGET. Its user ID may have changed since it called listen(). */
static int check_peer(const struct target *target, int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);
	int status;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return -errno;
	if (peer.pid != target->pid || peer_has_ended(fd))
		return -EREMCHG;
	/* The PID belongs to the same process as long as the pinned directory is readable. */
	status = target_open_file(target, "status", O_RDONLY);
	if (status < 0)
		return -ESRCH;
	close(status);
	return 0;
}

int live_endpoint_connect_at(const struct target *target, int dir, const char *name,
			     uint64_t deadline_ns)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat st;
	int fd, err;

	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir,
			     name) >= sizeof(address.sun_path))
		fd = -ENAMETOOLONG;
	else if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		fd = -errno;
	else if (!S_ISSOCK(st.st_mode))
		fd = -EREMCHG;
	else
		fd = socket_connect((struct sockaddr *)&address, sizeof(address), deadline_ns);
	err = fd < 0 ? fd : check_peer(target, fd);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

static int unix_connect_path(const struct target *target, const char *path, uint64_t deadline_ns)
{
	const char *name = strrchr(path, '/') + 1;
	char folder[PATH_MAX];
	int dir, fd;

	snprintf(folder, sizeof(folder), "%.*s", (int)(name - path), path);
	dir = target_open_directory(target, folder);
	if (dir < 0)
		return dir;
	fd = live_endpoint_connect_at(target, dir, name, deadline_ns);
	close(dir);
	return fd;
}

/* Connect to one of the listed paths of INODES that belongs to TARGET. */
static int unix_connect_listed(const struct target *target, const struct inodes *inodes,
			       uint64_t deadline_ns)
{
	FILE *list = target_open_text(target, "net/unix");
	char path[PATH_MAX];
	int fd = -ENODATA, err = -ENODATA;

	while (list && fd < 0 && clock_monotonic_ns() < deadline_ns &&
	       read_unix_path(list, inodes, path)) {
		fd = unix_connect_path(target, path, deadline_ns);
		/* Report the most relevant error of several. */
		if (err == -ENODATA || err == -ENOENT || err == -EREMCHG || fd == -EAGAIN)
			err = fd;
	}
	if (list)
		fclose(list);
	return fd < 0 ? err : fd;
}

/* Returns a descriptor, or -errno; -ENODATA if no path is listed. */
static int unix_connect(const struct target *target, const struct inodes *inodes,
			uint64_t deadline_ns)
{
	static const struct timespec a_while = { .tv_nsec = 10000000 };
	int fd = unix_connect_listed(target, inodes, deadline_ns);

	while (fd == -EAGAIN && clock_monotonic_ns() < deadline_ns) {
		nanosleep(&a_while, NULL);
		fd = unix_connect_listed(target, inodes, deadline_ns);
	}
	return fd == -EAGAIN ? -ETIMEDOUT : fd;
}

/* Connect to ADDRESS. TARGET must listen there before and after, so the connection is to TARGET. */
static int tcp_connect(const struct target *target, const struct sockaddr_storage *address,
		       uint64_t deadline_ns)
{
	struct sockaddr_storage after;
	struct inodes inodes;
	int fd, err;

	if (!target_shares_link(target, "ns/net"))
		return -EXDEV;
	fd = socket_connect((const struct sockaddr *)address,
			    address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							   : sizeof(struct sockaddr_in),
			    deadline_ns);
	if (fd < 0)
		return fd;
	err = read_inodes(target, &inodes);
	if (!err &&
	    (!find_tcp_address(target, &inodes, &after) || memcmp(&after, address, sizeof(after))))
		err = -EREMCHG;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int describe_missing_thread(const struct target *target, char problem[LIVE_PROBLEM_MAX])
{
	if (find_thread(target, "asprof-agent") > 0) {
		snprintf(problem, LIVE_PROBLEM_MAX,
			 "process %d is profiled but has no live endpoint: it has not started yet, "
			 "or "
			 "ASPROF_AGENT_LISTEN is off there; ASPROF_AGENT_LOG=info logs the reason",
			 target->pid);
		return -ENOTCONN;
	}
	snprintf(
		problem, LIVE_PROBLEM_MAX,
		"process %d is not profiled; asprof-agent attach %d puts the profiler into it, and "
		"doctor %d says why it has none",
		target->pid, target->pid, target->pid);
	return -ENOENT;
}

static int describe_error(pid_t pid, int err, char problem[LIVE_PROBLEM_MAX])
{
	if (err == -ESRCH || err == -ENOENT)
		snprintf(problem, LIVE_PROBLEM_MAX, "there is no process %d", pid);
	else if (err == -EACCES || err == -EPERM)
		snprintf(problem, LIVE_PROBLEM_MAX,
			 "process %d: only its own user and root can inspect it: run this as one "
			 "of them (sudo asprof-agent ...)",
			 pid);
	else if (err == -EREMCHG)
		snprintf(problem, LIVE_PROBLEM_MAX,
			 "process %d: another process answers at the address of its live endpoint",
			 pid);
	else if (err == -EXDEV)
		snprintf(problem, LIVE_PROBLEM_MAX,
			 "process %d has its live endpoint in another network namespace: run this "
			 "there (nsenter -t %d -n asprof-agent ...)",
			 pid, pid);
	else
		snprintf(problem, LIVE_PROBLEM_MAX, "process %d: %s", pid, strerror(-err));
	return err == -ENOENT ? -ESRCH : err == -EPERM ? -EACCES : err;
}

/* Connect to the endpoint that THREAD serves. Returns 0; -ENODATA if it does not listen; or another -errno, with PROBLEM. */
static int thread_connect(const struct target *thread, uint64_t deadline_ns,
			  struct live_connection *connection, char problem[LIVE_PROBLEM_MAX])
{
	struct sockaddr_storage address;
	struct inodes inodes;
	int err = read_inodes(thread, &inodes);

	if (err)
		return describe_error(thread->pid, err, problem);
	connection->fd = unix_connect(thread, &inodes, deadline_ns);
	if (connection->fd < 0 && find_tcp_address(thread, &inodes, &address)) {
		connection->fd = tcp_connect(thread, &address, deadline_ns);
		connection->wants_token = true;
	}
	if (connection->fd == -ENODATA)
		return -ENODATA;
	if (connection->fd == -ENOENT) /* the socket's path was removed */
		connection->fd = -ECONNREFUSED;
	return connection->fd < 0 ? describe_error(thread->pid, connection->fd, problem) : 0;
}

/* The files of a main thread that has ended are empty, so those of the endpoint's thread are read. */
static int target_connect(const struct target *target, uint64_t deadline_ns,
			  struct live_connection *connection, char problem[LIVE_PROBLEM_MAX])
{
	struct target thread = { .pid = target->pid };
	pid_t tid = find_thread(target, "asprof-live");
	char path[32];
	int err;

	if (tid < 0)
		return describe_error(target->pid, tid, problem);
	if (!tid)
		return describe_missing_thread(target, problem);
	if (target_is_stopped(target)) {
		snprintf(problem, LIVE_PROBLEM_MAX,
			 "process %d is stopped by a signal, and does not answer; kill -CONT %d "
			 "resumes it",
			 target->pid, target->pid);
		return -ETIMEDOUT;
	}
	snprintf(path, sizeof(path), "task/%d", tid);
	thread.dir = target_open_file(target, path, O_RDONLY | O_DIRECTORY);
	if (thread.dir < 0)
		return describe_error(target->pid, thread.dir, problem);
	err = thread_connect(&thread, deadline_ns, connection, problem);
	target_close(&thread);
	return err == -ENODATA ? describe_missing_thread(target, problem) : err;
}

int live_endpoint_connect(pid_t pid, uint64_t deadline_ns, struct live_connection *connection,
			  char problem[LIVE_PROBLEM_MAX])
{
	struct target target;
	int err = target_open(&target, pid);

	*connection = (struct live_connection){ .fd = -1 };
	if (err)
		return describe_error(pid, err, problem);
	err = target_connect(&target, deadline_ns, connection, problem);
	target_close(&target);
	return err;
}

/* The main thread of this command has the name of an agent's thread. */
static bool process_has_agent(pid_t pid)
{
	struct target target;
	bool has = !target_open(&target, pid) && (find_thread(&target, "asprof-live") > 0 ||
						  (!thread_has_name(&target, pid, "asprof-agent") &&
						   find_thread(&target, "asprof-agent") > 0));

	target_close(&target);
	return has;
}

static int compare_pid(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

size_t live_endpoint_list_processes(pid_t **out)
{
	DIR *dir = opendir("/proc");
	pid_t *pids = NULL, *larger, pid;
	size_t count = 0, room = 0;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid = atoi(entry->d_name);
		if (pid <= 0 || !process_has_agent(pid))
			continue;
		if (count == room) {
			room = room ? 2 * room : 64;
			larger = realloc(pids, room * sizeof(*pids));
			if (!larger)
				break;
			pids = larger;
		}
		pids[count++] = pid;
	}
	if (dir)
		closedir(dir);
	if (count)
		qsort(pids, count, sizeof(*pids), compare_pid);
	*out = pids;
	return count;
}

const char *live_endpoint_token(void)
{
	const char *token = getenv("ASPROF_AGENT_LISTEN_TOKEN");

	return token && *token ? token : NULL;
}

bool live_endpoint_has_agent(pid_t pid)
{
	struct target target;
	bool has;

	if (target_open(&target, pid))
		return false;
	has = find_thread(&target, "asprof-agent") > 0 || find_thread(&target, "asprof-live") > 0;
	target_close(&target);
	return has;
}
