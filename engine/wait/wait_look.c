/* Looks at a thread from the agent's thread, without interrupting it. */
#include "engine/wait/wait_look.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/own_fds.h"
#include "core/random.h"
#include "core/system.h"
#include "core/timer/second_limit.h"
#include "core/text/text_clean.h"
#include "engine/process/proc_file.h"
#include "engine/reading/process_memory.h"
#include "engine/sample/ring_wait.h"
#include "engine/wait/wait_calls.h"
#include "engine/wait/wait_object.h"
#include "engine/wait/wait_owner.h"

static enum wait_detail detail = WAIT_OFF;

static unsigned open_files;

void wait_look_detail(enum wait_detail wanted)
{
	detail = wanted;
}

bool wait_look_is_on(void)
{
	return detail != WAIT_OFF;
}

bool wait_call_parse(struct thread_call *out, const char *text)
{
	static const char no_call[] = "-1 ";

	*out = (struct thread_call){ .number = -1 };
	return !strncmp(text, no_call, strlen(no_call)) || thread_call_parse(out, text);
}

static void wait_set_object(struct wait *wait, const char *text)
{
	if (detail != WAIT_ALL || !*text)
		return;
	free(wait->object);
	wait->object = strdup(text);
	if (wait->object)
		text_clean_string(wait->object);
}

/* The causes of reads and writes by the kind of their descriptor; WAIT_NO_CAUSE: the row's. */
static const struct {
	uint8_t read, write;
} causes_of_objects[] = {
	[WAIT_OBJECT_NONE] = { WAIT_NO_CAUSE, WAIT_NO_CAUSE },
	[WAIT_OBJECT_FILE] = { WAIT_FILE, WAIT_FILE },
	[WAIT_OBJECT_PIPE] = { WAIT_PIPE_READ, WAIT_PIPE_WRITE },
	[WAIT_OBJECT_SOCKET] = { WAIT_SOCKET_READ, WAIT_SOCKET_WRITE },
	[WAIT_OBJECT_LISTENER] = { WAIT_SOCKET_READ, WAIT_SOCKET_WRITE },
	[WAIT_OBJECT_TIMER] = { WAIT_TIMER, WAIT_TIMER },
	[WAIT_OBJECT_SEMAPHORE] = { WAIT_SEMAPHORE, WAIT_SEMAPHORE },
	[WAIT_OBJECT_EVENTS] = { WAIT_IDLE, WAIT_IDLE },
};

static void wait_set_descriptor(struct wait *wait, pid_t tid, int fd, bool is_write)
{
	char text[WAIT_OBJECT_MAX];
	enum wait_object_kind kind = wait_object_of_descriptor(tid, fd, text);
	uint8_t cause = is_write ? causes_of_objects[kind].write : causes_of_objects[kind].read;

	if (cause != WAIT_NO_CAUSE)
		wait->cause = cause;
	wait_set_object(wait, text);
}

/* A program that polls one descriptor waits for it, as in a read or write. A listening socket is the
 * exception: that is an event loop. */
static void wait_set_poll(struct wait *wait, pid_t tid, uintptr_t address, uintptr_t count)
{
	char text[WAIT_OBJECT_MAX];
	struct pollfd one;

	if (!count)
		wait->cause = WAIT_SLEEP;
	if (count != 1 || process_memory_read(address, &one, sizeof(one)))
		return;
	if (wait_object_of_descriptor(tid, one.fd, text) == WAIT_OBJECT_LISTENER)
		wait_set_object(wait, text);
	else
		wait_set_descriptor(wait, tid, one.fd,
				    (one.events & (POLLIN | POLLOUT)) == POLLOUT);
}

static void wait_set_connect(struct wait *wait, const uintptr_t *arguments)
{
	struct sockaddr_storage address = { 0 };
	size_t size = arguments[2] < sizeof(address) ? arguments[2] : sizeof(address);
	char text[WAIT_OBJECT_MAX];

	if (process_memory_read(arguments[1], &address, size))
		return;
	/* Only TCP and Unix sockets wait there. */
	wait_object_of_address((struct sockaddr *)&address, (socklen_t)size, IPPROTO_TCP, text);
	wait_set_object(wait, text);
}

static void wait_set_path(struct wait *wait, uintptr_t address)
{
	char text[WAIT_OBJECT_MAX];
	size_t size = sizeof(text) - 1;

	/* The string may be shorter, and the page after it may not be mapped. */
	while (size && process_memory_read(address, text, size))
		size /= 2;
	text[size] = '\0';
	wait_set_object(wait, text);
}

static void wait_set_process(struct wait *wait, pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "pid %d", pid);
	if (pid > 0)
		wait_set_object(wait, text);
}

static void wait_set_fcntl(struct wait *wait, pid_t tid, const uintptr_t *arguments)
{
	uint8_t cause =
		arguments[1] == F_SETLKW || arguments[1] == F_OFD_SETLKW ? WAIT_LOCK : WAIT_SYSCALL;

	wait_set_descriptor(wait, tid, (int)arguments[0], false);
	wait->cause = cause;
}

/* A futex so near to the stack pointer is on the thread's own stack. */
#define ON_STACK 4096

/* musl waits for a condition by a futex on the waiting thread's stack. */
static void wait_set_futex(struct wait *wait, uintptr_t address, uintptr_t sp)
{
	wait->is_futex = true;
	wait->cause = address - sp < ON_STACK ? WAIT_CONDITION : WAIT_LOCK;
	wait->lock = address;
	wait->owner_kinds = WAIT_OWNER_ANY;
}

static bool call_has_timeout(const struct wait_call *row, const uintptr_t *arguments)
{
	uintptr_t timeout = arguments[row->timeout];
	struct ring_wait ring;

	switch (row->timeout_kind) {
	case WAIT_TIMEOUT_NONE:
		break;
	case WAIT_TIMEOUT_MS:
		return (int)timeout >= 0;
	case WAIT_TIMEOUT_POINTER:
		return timeout;
	case WAIT_TIMEOUT_RING:
		return arguments[RING_FLAGS] & RING_HAS_STRUCT &&
		       !process_memory_read(timeout, &ring, sizeof(ring)) && ring.time;
	}
	return false;
}

void wait_set_call(struct wait *wait, pid_t tid, const struct thread_call *call)
{
	const struct wait_call *row = call->number >= 0 ? wait_call_find(call->number) : NULL;
	const uintptr_t *arguments = call->arguments;
	uintptr_t first = row ? arguments[row->argument] : 0;

	wait->number = call->number;
	wait->sp = call->sp;
	wait->pc = call->pc;
	wait->first = arguments[0];
	wait->has_timeout = row && call_has_timeout(row, arguments);
	wait->cause = call->number < 0 ? WAIT_PAGE_FAULT : row ? (uint8_t)row->cause : WAIT_SYSCALL;
	switch (row ? row->kind : WAIT_CALL_PLAIN) {
	case WAIT_CALL_PLAIN:
		break;
	case WAIT_CALL_OBJECT:
		wait_set_descriptor(wait, tid, (int)first, false);
		wait->cause = (uint8_t)row->cause;
		break;
	case WAIT_CALL_READ:
	case WAIT_CALL_WRITE:
		wait_set_descriptor(wait, tid, (int)first, row->kind == WAIT_CALL_WRITE);
		break;
	case WAIT_CALL_PATH:
		wait_set_path(wait, first);
		break;
	case WAIT_CALL_CONNECT:
		wait_set_connect(wait, arguments);
		break;
	case WAIT_CALL_POLL:
		wait_set_poll(wait, tid, first, arguments[1]);
		break;
	case WAIT_CALL_SELECT:
		wait->cause = first ? WAIT_IDLE : WAIT_SLEEP;
		break;
	case WAIT_CALL_FUTEX:
		wait_set_futex(wait, first, call->sp);
		break;
	case WAIT_CALL_FCNTL:
		wait_set_fcntl(wait, tid, arguments);
		break;
	case WAIT_CALL_WAIT4:
		wait_set_process(wait, (pid_t)first);
		break;
	case WAIT_CALL_WAITID:
		wait_set_process(wait, first == P_PID ? (pid_t)arguments[1] : 0);
		break;
	}
}

/* For a process that has changed its user: the name of a function of the kernel. Returns false if
 * the thread is not waiting. */
static bool wait_look_by_function(struct wait *wait, pid_t tid)
{
	char name[64];

	if (proc_file_read_of(tid, "wchan", name, sizeof(name)) <= 0 || name[0] == '0')
		return false;
	wait->number = -1;
	wait->cause = (uint8_t)wait_cause_of_function(name);
	wait->is_futex = wait->cause == WAIT_LOCK && !strncmp(name, "futex_", 6);
	wait->first = (uintptr_t)tid * sizeof(uint32_t); /* identifies the futex by its waiter */
	return true;
}

/* True if the program may unmount /proc, which an open file there would prevent. */
static bool may_unmount(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return kernel_call4(SYS_capget, (long)&header, (long)data, 0, 0) ||
	       data[0].permitted & 1u << CAP_SYS_ADMIN;
}

/* With a lower limit, uploads and privilege checks need all descriptors. */
#define NOFILE_MIN 64

static bool may_keep_file(void)
{
	struct rlimit limit;

	return own_fds_apart() && open_files < WAIT_FILES_MAX &&
	       !system_limit(RLIMIT_NOFILE, &limit) && limit.rlim_cur >= NOFILE_MIN &&
	       open_files < limit.rlim_cur / 8 && !may_unmount();
}

/* Count an open file. Returns false if there were too many in this second. */
static bool may_open_file(void)
{
	static struct second_limit opens;

	return second_limit_count(&opens, clock_monotonic_ns(), WAIT_OPENS_PER_SECOND);
}

static ssize_t file_read(int fd, char *text, size_t size)
{
	ssize_t length = pread(fd, text, size - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	return length < 0 ? -errno : length;
}

/* Read the file NAME of TID, which stays open as *KEPT if possible. Returns the length or -errno;
 * -EAGAIN after too many. */
static ssize_t thread_file_read(pid_t tid, const char *name, int *kept, char *text, size_t size)
{
	int fd;

	text[0] = '\0';
	if (!*kept && !may_open_file())
		return -EAGAIN;
	if (!*kept && !may_keep_file())
		return proc_file_read_of(tid, name, text, size);
	if (!*kept) {
		fd = fd_of_thread(tid, name, 0);
		if (fd < 0)
			return fd;
		*kept = fd;
		open_files++;
	}
	return file_read(*kept, text, size);
}

/* The second number of the file; 0 if it cannot be read. */
static uint64_t read_queue_ns(pid_t tid, struct wait_seen *seen)
{
	char text[80], *end;

	if (thread_file_read(tid, "schedstat", &seen->times_fd, text, sizeof(text)) <= 0)
		return 0;
	strtoull(text, &end, 10);
	return strtoull(end, NULL, 10);
}

static uint8_t state_by_times(pid_t tid, uint64_t cpu_ns, struct wait_seen *seen)
{
	uint64_t ran_ns = cpu_ns - seen->cpu_ns, queue_ns = read_queue_ns(tid, seen),
		 queued_ns = queue_ns ? queue_ns - seen->queue_ns : 0;

	seen->cpu_ns = cpu_ns;
	if (queue_ns)
		seen->queue_ns = queue_ns;
	/* The kernel adds a time in the queue when that time ends. */
	if (!ran_ns)
		return WAIT_RUNNABLE;
	return random_below(ran_ns + queued_ns) < ran_ns ? WAIT_RUNNING : WAIT_RUNNABLE;
}

bool wait_has_ended(pid_t tid, struct wait_seen *seen)
{
	struct thread_call call;
	char text[256];

	return thread_file_read(tid, "syscall", &seen->call_fd, text, sizeof(text)) > 0 &&
	       !wait_call_parse(&call, text);
}

bool wait_is_over(const struct wait_seen *seen)
{
	struct wait_seen open = *seen;

	return open.call_fd && wait_has_ended(0, &open);
}

static void file_close(int fd)
{
	if (!fd)
		return;
	close(fd);
	open_files--;
}

void wait_seen_clear(struct wait_seen *seen)
{
	file_close(seen->call_fd);
	file_close(seen->times_fd);
	*seen = (struct wait_seen){ 0 };
}

void wait_look(struct wait *wait, pid_t tid, uint64_t cpu_ns, struct wait_seen *seen)
{
	struct thread_call call;
	bool is_waiting;
	char text[256];
	ssize_t length;

	wait_clear(wait);
	if (detail == WAIT_OFF)
		return;
	length = thread_file_read(tid, "syscall", &seen->call_fd, text, sizeof(text));
	if (length == -ENOENT || length == -ESRCH || length == -EAGAIN)
		return;
	is_waiting = length > 0 ? wait_call_parse(&call, text) : wait_look_by_function(wait, tid);
	if (is_waiting && length > 0)
		wait_set_call(wait, tid, &call);
	wait->state = is_waiting ? WAIT_WAITING : state_by_times(tid, cpu_ns, seen);
}
