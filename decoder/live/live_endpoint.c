/* The live endpoints of running processes. The agent's thread there is known by its name, its socket by its
 * number, and the kernel's lists tell where that listens. */
#include "decoder/live/live_endpoint.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* Longer than what the other side gives itself for an answer. */
#define PATIENCE_SECONDS 30

/* Sockets that such a thread has open. */
#define INODES_MAX 256

struct inodes {
	uint64_t list[INODES_MAX];
	size_t count;
};

static bool thread_has_name(const char *path, const char *name)
{
	char comm[32];
	FILE *file = fopen(path, "re");
	bool is = file && fgets(comm, sizeof(comm), file) && strlen(comm) == strlen(name) + 1 &&
		  !strncmp(comm, name, strlen(name));

	if (file)
		fclose(file);
	return is;
}

/* The thread of PID that is called NAME; 0: none; -errno. */
static pid_t find_thread(pid_t pid, const char *name)
{
	struct dirent *entry;
	char path[64];
	pid_t found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!found && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
		if (tid > 0 && thread_has_name(path, name))
			found = tid;
	}
	closedir(dir);
	return found;
}

static int read_inodes(pid_t pid, pid_t tid, struct inodes *inodes)
{
	struct dirent *entry;
	char path[64], target[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", pid, tid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	inodes->count = 0;
	while (inodes->count < INODES_MAX && (entry = readdir(dir))) {
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (length <= 0)
			continue;
		target[length] = '\0';
		if (sscanf(target, "socket:[%" SCNu64 "]", &inodes->list[inodes->count]) == 1)
			inodes->count++;
	}
	closedir(dir);
	return 0;
}

static bool has(const struct inodes *inodes, uint64_t inode)
{
	for (size_t i = 0; i < inodes->count; i++)
		if (inodes->list[i] == inode)
			return true;
	return false;
}

static FILE *target_open_text(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, name);
	return fopen(path, "re");
}

/* The path of one of INODES that listens. Source: net/unix/af_unix.c, unix_seq_show. */
static bool unix_path(pid_t pid, const struct inodes *inodes, char path[PATH_MAX])
{
	FILE *list = target_open_text(pid, "unix");
	char line[PATH_MAX + 128];
	unsigned flags;
	uint64_t inode;
	int at = 0;
	bool found = false;

	while (list && !found && fgets(line, sizeof(line), list)) {
		at = 0;
		if (sscanf(line, "%*x: %*x %*x %x %*x %*x %" SCNu64 " %n", &flags, &inode, &at) < 2)
			continue;
		found = at && flags & 0x10000 && line[at] == '/' && has(inodes, inode);
	}
	if (found)
		snprintf(path, PATH_MAX, "%.*s", (int)strcspn(line + at, "\n"), line + at);
	if (list)
		fclose(list);
	return found;
}

/* Its parts are words of the machine, in hexadecimal. Source: net/ipv4/tcp_ipv4.c, get_tcp4_sock. */
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

static bool find_tcp_address(pid_t pid, const struct inodes *inodes,
			     struct sockaddr_storage *address)
{
	static const char *const names[] = { "tcp", "tcp6" };
	char line[512], local[64];
	unsigned state;
	uint64_t inode;
	bool found = false;

	for (int six = 0; six < 2 && !found; six++) {
		FILE *list = target_open_text(pid, names[six]);

		while (list && !found && fgets(line, sizeof(line), list)) {
			if (sscanf(line, "%*d: %63s %*s %x %*s %*s %*s %*u %*u %" SCNu64, local,
				   &state, &inode) != 3)
				continue;
			found = state == 0x0a && has(inodes, inode);
		}
		if (list)
			fclose(list);
		if (found)
			parse_tcp_address(local, six, address);
	}
	return found;
}

static int connect_to(const struct sockaddr *address, socklen_t length)
{
	struct timeval patience = { .tv_sec = PATIENCE_SECONDS };
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!connect(fd, address, length))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* PATH as process PID has it: in its root directory, and by a number where it is too long for an address. */
static int connect_path(pid_t pid, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char folder[PATH_MAX + 32];
	const char *name = strrchr(path, '/') + 1;
	int dir, fd;

	snprintf(folder, sizeof(folder), "/proc/%d/root%.*s", pid, (int)(name - path), path);
	dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir,
			     name) < sizeof(address.sun_path))
		fd = connect_to((struct sockaddr *)&address, sizeof(address));
	else
		fd = -ENAMETOOLONG;
	close(dir);
	return fd;
}

static int no_thread(pid_t pid, char problem[FIND_PROBLEM_MAX])
{
	if (find_thread(pid, "asprof-agent") > 0) {
		snprintf(
			problem, FIND_PROBLEM_MAX,
			"process %d is profiled and has no live endpoint: it has not begun yet, or "
			"ASPROF_AGENT_LISTEN is off there, or ASPROF_AGENT_LOG=info says why",
			pid);
		return -ENOTCONN;
	}
	snprintf(problem, FIND_PROBLEM_MAX,
		 "process %d is not profiled; asprof-agent doctor %d says why", pid, pid);
	return -ENOENT;
}

/* Stopped by a signal, or by a debugger. Source: proc_pid_stat(5). */
static bool target_is_stopped(pid_t pid)
{
	char path[64], line[512], *end;
	FILE *file;
	bool stopped;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	end = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	stopped = end && (end[2] == 'T' || end[2] == 't');
	if (file)
		fclose(file);
	return stopped;
}

static int describe_error(pid_t pid, int err, char problem[FIND_PROBLEM_MAX])
{
	if (err == -ESRCH || err == -ENOENT)
		snprintf(problem, FIND_PROBLEM_MAX, "there is no process %d", pid);
	else if (err == -EACCES || err == -EPERM)
		snprintf(
			problem, FIND_PROBLEM_MAX,
			"process %d may be looked into by its own user and root alone: run this as "
			"one of them (sudo asprof-agent ...)",
			pid);
	else
		snprintf(problem, FIND_PROBLEM_MAX, "process %d: %s", pid, strerror(-err));
	return err == -ENOENT ? -ESRCH : err == -EPERM ? -EACCES : err;
}

int find_connect(pid_t pid, char problem[FIND_PROBLEM_MAX])
{
	struct sockaddr_storage address;
	struct inodes inodes;
	char path[PATH_MAX];
	pid_t tid = find_thread(pid, "asprof-live");
	int err;

	if (tid < 0)
		return describe_error(pid, tid, problem);
	if (!tid)
		return no_thread(pid, problem);
	if (target_is_stopped(pid)) {
		snprintf(problem, FIND_PROBLEM_MAX,
			 "process %d is stopped by a signal, and does not answer; kill -CONT %d "
			 "lets it go on",
			 pid, pid);
		return -ETIMEDOUT;
	}
	err = read_inodes(pid, tid, &inodes);
	if (err)
		return describe_error(pid, err, problem);
	if (unix_path(pid, &inodes, path))
		err = connect_path(pid, path);
	else if (find_tcp_address(pid, &inodes, &address))
		err = connect_to((struct sockaddr *)&address, address.ss_family == AF_INET6
								      ? sizeof(struct sockaddr_in6)
								      : sizeof(struct sockaddr_in));
	else
		return no_thread(pid, problem);
	return err < 0 ? describe_error(pid, err, problem) : err;
}

static int compare_pid(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

void find_each(void (*each)(void *context, pid_t pid), void *context)
{
	DIR *dir = opendir("/proc");
	pid_t *pids = NULL, *larger, pid;
	size_t count = 0, room = 0;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid = atoi(entry->d_name);
		if (pid <= 0)
			continue;
		if (count == room) {
			room = room ? 2 * room : 1024;
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
	for (size_t i = 0; i < count; i++)
		if (find_thread(pids[i], "asprof-live") > 0 ||
		    find_thread(pids[i], "asprof-agent") > 0)
			each(context, pids[i]);
	free(pids);
}

const char *live_endpoint_token(void)
{
	const char *token = getenv("ASPROF_AGENT_LISTEN_TOKEN");

	return token && *token ? token : NULL;
}
