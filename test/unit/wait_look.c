/* engine/wait/wait_look and wait_object: what a thread waits for, by its system call. */
#include "engine/wait/wait_look.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine/sample/ready_wait.h"
#include "engine/wait/socket_table.h"
#include "engine/wait/wait_calls.h"
#include "engine/wait/wait_lines.h"
#include "engine/wait/wait_object.h"
#include "test/fixtures/suite.h"

static const struct {
	const char *text;
	bool is_waiting;
	long number;
	uintptr_t first, last;
} texts[] = {
	{ "202 0x7f00 0x80 0x2 0x0 0x0 0xffffffffffffffff 0x7ffe 0x7f12\n", true, 202, 0x7f00,
	  UINTPTR_MAX },
	{ "0 0x3 0x1 0x2 0x3 0x4 0x5 0x7ffe 0x7f12\n", true, 0, 3, 5 },
	{ "-1 0x7ffe 0x7f12\n", true, -1, 0, 0 },
	{ "running\n", false, 0, 0, 0 },
	{ "", false, 0, 0, 0 },
	{ "0\n", false, 0, 0, 0 },
	{ "0 0x3 0x1", false, 0, 0, 0 },
	{ "12x 0x3", false, 0, 0, 0 },
};

START_TEST(contents_of_the_file)
{
	struct thread_call call;

	ck_assert_int_eq(wait_call_parse(&call, texts[_i].text), texts[_i].is_waiting);
	if (!texts[_i].is_waiting)
		return;
	ck_assert_int_eq(call.number, texts[_i].number);
	ck_assert_uint_eq(call.arguments[0], texts[_i].first);
	ck_assert_uint_eq(call.arguments[5], texts[_i].last);
	ck_assert_uint_eq(call.sp, call.number < 0 ? 0 : 0x7ffe);
}
END_TEST

/* Descriptors of each kind, in the order of this list. */
enum { FILE_FD, PIPE_FD, SOCKET_FD, LISTENER_FD, TIMER_FD, EVENT_FD, CLOSED_FD, FDS };

static int fds[FDS];
static struct pollfd polled[2];
static char port[64];

static void open_fds(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int pair[2];

	fds[FILE_FD] = open("/dev/null", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pipe(pair), 0);
	fds[PIPE_FD] = pair[0];
	fds[LISTENER_FD] = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(fds[LISTENER_FD], (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(listen(fds[LISTENER_FD], 1), 0);
	ck_assert_int_eq(getsockname(fds[LISTENER_FD], (struct sockaddr *)&address, &size), 0);
	fds[SOCKET_FD] = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(fds[SOCKET_FD], (struct sockaddr *)&address, size), 0);
	fds[TIMER_FD] = timerfd_create(CLOCK_MONOTONIC, 0);
	fds[EVENT_FD] = eventfd(0, 0);
	fds[CLOSED_FD] = 999;
	snprintf(port, sizeof(port), "tcp 127.0.0.1:%u", ntohs(address.sin_port));
}

/* A call with its first three arguments; FD: index of the descriptor that is the first, or -1. */
static const struct {
	long number;
	int fd;
	uintptr_t arguments[3];
	enum wait_cause cause;
	const char *object; /* "": none */
} calls[] = {
	{ SYS_read, FILE_FD, { 0 }, WAIT_FILE, "/dev/null" },
	{ SYS_read, TIMER_FD, { 0 }, WAIT_TIMER, "anon_inode:[timerfd]" },
	{ SYS_read, EVENT_FD, { 0 }, WAIT_SEMAPHORE, "anon_inode:[eventfd]" },
	{ SYS_read, CLOSED_FD, { 0 }, WAIT_FILE, "" },
	{ SYS_write, FILE_FD, { 0 }, WAIT_FILE, "/dev/null" },
	{ SYS_fsync, FILE_FD, { 0 }, WAIT_FILE, "/dev/null" },
	{ SYS_ioctl, FILE_FD, { 0 }, WAIT_SYSCALL, "/dev/null" },
	{ SYS_fcntl, FILE_FD, { 0, F_SETLKW }, WAIT_LOCK, "/dev/null" },
	{ SYS_fcntl, FILE_FD, { 0, F_GETFL }, WAIT_SYSCALL, "/dev/null" },
	{ SYS_openat, -1, { 0, (uintptr_t) "/a\nb" }, WAIT_FILE, "/a?b" },
	{ SYS_ppoll, -1, { 0, 0 }, WAIT_SLEEP, "" },
	{ SYS_ppoll, -1, { (uintptr_t)polled, 2 }, WAIT_IDLE, "" },
	{ SYS_ppoll, -1, { 1, 1 }, WAIT_IDLE, "" }, /* an address that cannot be read */
	{ SYS_pselect6, -1, { 0 }, WAIT_SLEEP, "" },
	{ SYS_pselect6, -1, { 5 }, WAIT_IDLE, "" },
	{ SYS_epoll_pwait, FILE_FD, { 0 }, WAIT_IDLE, "" },
	{ SYS_clock_nanosleep, -1, { 0 }, WAIT_SLEEP, "" },
	{ SYS_wait4, -1, { 123 }, WAIT_CHILD, "pid 123" },
	{ SYS_wait4, -1, { (uintptr_t)-1 }, WAIT_CHILD, "" },
	{ SYS_waitid, -1, { 1, 456 }, WAIT_CHILD, "pid 456" },
	{ SYS_futex, -1, { (uintptr_t)polled }, WAIT_LOCK, "" },
	{ 9999, -1, { 0 }, WAIT_SYSCALL, "" },
	{ -1, -1, { 0 }, WAIT_PAGE_FAULT, "" },
};

static struct wait wait_in(long number, uintptr_t first, const uintptr_t *others)
{
	struct thread_call call = { number, { first, others[1], others[2] }, 0, 0 };
	struct wait wait = { 0 };

	wait_set_call(&wait, (pid_t)syscall(SYS_gettid), &call);
	return wait;
}

START_TEST(causes_of_calls)
{
	struct wait wait;

	open_fds();
	wait_look_detail(WAIT_ALL);
	wait = wait_in(calls[_i].number,
		       calls[_i].fd < 0 ? calls[_i].arguments[0] : (uintptr_t)fds[calls[_i].fd],
		       calls[_i].arguments);
	ck_assert_str_eq(jfr_wait_causes[wait.cause], jfr_wait_causes[calls[_i].cause]);
	ck_assert_str_eq(wait.object ? wait.object : "", calls[_i].object);
	wait_clear(&wait);
	wait_look_detail(WAIT_KINDS);
	wait = wait_in(calls[_i].number,
		       calls[_i].fd < 0 ? calls[_i].arguments[0] : (uintptr_t)fds[calls[_i].fd],
		       calls[_i].arguments);
	ck_assert_int_eq(wait.cause, calls[_i].cause);
	ck_assert_ptr_null(wait.object);
}
END_TEST

/* The event loop's timer: by its timeout, until the end of the wait is known. */
static const struct {
	long number;
	uintptr_t arguments[6];
	uint8_t end;
	enum wait_cause cause;
} loops[] = {
	{ SYS_epoll_pwait, { 0, 0, 1, (uintptr_t)-1 }, READY_WAIT_UNKNOWN, WAIT_IDLE },
	{ SYS_epoll_pwait, { 0, 0, 1, 0xffffffff }, READY_WAIT_UNKNOWN, WAIT_IDLE },
	{ SYS_epoll_pwait, { 0, 0, 1, 100 }, READY_WAIT_UNKNOWN, WAIT_TIMER },
	{ SYS_epoll_pwait, { 0, 0, 1, 100 }, READY_WAIT_READY, WAIT_IDLE },
	{ SYS_epoll_pwait, { 0, 0, 1, 100 }, READY_WAIT_TIMED_OUT, WAIT_TIMER },
	{ SYS_epoll_pwait2, { 0, 0, 1, 0 }, READY_WAIT_UNKNOWN, WAIT_IDLE },
	{ SYS_epoll_pwait2, { 0, 0, 1, 0x1000 }, READY_WAIT_UNKNOWN, WAIT_TIMER },
	{ SYS_ppoll, { (uintptr_t)polled, 2, 0 }, READY_WAIT_UNKNOWN, WAIT_IDLE },
	{ SYS_ppoll, { (uintptr_t)polled, 2, 0x1000 }, READY_WAIT_UNKNOWN, WAIT_TIMER },
	{ SYS_pselect6, { 5, 0, 0, 0, 0 }, READY_WAIT_UNKNOWN, WAIT_IDLE },
	{ SYS_pselect6, { 5, 0, 0, 0, 0x1000 }, READY_WAIT_UNKNOWN, WAIT_TIMER },
	{ SYS_pselect6, { 0, 0, 0, 0, 0x1000 }, READY_WAIT_TIMED_OUT, WAIT_SLEEP },
	{ SYS_io_uring_enter, { 3, 0, 1, 1, 0, 8 }, READY_WAIT_UNKNOWN, WAIT_IDLE },
	{ SYS_io_uring_enter, { 3, 0, 1, 9, 0, 24 }, READY_WAIT_UNKNOWN, WAIT_IDLE },
	{ SYS_io_uring_enter, { 3, 0, 1, 9, 1, 24 }, READY_WAIT_UNKNOWN, WAIT_TIMER },
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, { 0, 0, 1, (uintptr_t)-1 }, READY_WAIT_UNKNOWN, WAIT_IDLE },
	{ SYS_epoll_wait, { 0, 0, 1, 100 }, READY_WAIT_UNKNOWN, WAIT_TIMER },
	{ SYS_poll, { (uintptr_t)polled, 2, 100 }, READY_WAIT_UNKNOWN, WAIT_TIMER },
	{ SYS_select, { 5, 0, 0, 0, 0x1000 }, READY_WAIT_UNKNOWN, WAIT_TIMER },
#endif
};

/* A descriptor of io_uring_enter(2) has its timeout in a structure, of which the row gives the address as 0 or 1. */
START_TEST(timers_of_event_loops)
{
	static const uint64_t extended[2][3] = { { 0, 0, 0 }, { 0, 0, 0x1000 } };
	struct thread_call call = { .number = loops[_i].number };
	struct wait wait = { .state = WAIT_WAITING, .end = loops[_i].end };
	char lines[WAIT_LINES_MAX], wanted[64];

	memcpy(call.arguments, loops[_i].arguments, sizeof(call.arguments));
	if (call.number == SYS_io_uring_enter)
		call.arguments[4] = (uintptr_t)extended[call.arguments[4]];
	wait_set_call(&wait, (pid_t)syscall(SYS_gettid), &call);
	wait_lines(&wait, lines);
	snprintf(wanted, sizeof(wanted), "state=waiting\ncause=%s\n",
		 jfr_wait_causes[loops[_i].cause]);
	ck_assert_msg(!strncmp(lines, wanted, strlen(wanted)), "%s", lines);
	wait_clear(&wait);
}
END_TEST

/* The agent reads the lists of all sockets. */
START_TEST(pipes_and_sockets)
{
	static const uintptr_t none[3];
	struct wait wait;

	open_fds();
	wait_look_detail(WAIT_ALL);
	wait = wait_in(SYS_read, (uintptr_t)fds[PIPE_FD], none);
	ck_assert_int_eq(wait.cause, WAIT_PIPE_READ);
	ck_assert_ptr_nonnull(strstr(wait.object, "pipe:["));
	wait_clear(&wait);
	for (int i = SOCKET_FD; i <= LISTENER_FD; i++) {
		wait = wait_in(SYS_read, (uintptr_t)fds[i], none);
		ck_assert_int_eq(wait.cause, WAIT_SOCKET_READ);
		ck_assert_str_eq(wait.object, port);
		wait_clear(&wait);
	}
	polled[0] = (struct pollfd){ fds[SOCKET_FD], POLLOUT, 0 };
	wait = wait_in(SYS_ppoll, (uintptr_t)polled, (const uintptr_t[]){ 0, 1, 0 });
	ck_assert_int_eq(wait.cause, WAIT_SOCKET_WRITE);
	wait_clear(&wait);
	polled[0] = (struct pollfd){ fds[LISTENER_FD], POLLIN, 0 };
	wait = wait_in(SYS_ppoll, (uintptr_t)polled, (const uintptr_t[]){ 0, 1, 0 });
	ck_assert_int_eq(wait.cause, WAIT_IDLE);
	wait_clear(&wait);
}
END_TEST

/* Bind a Unix socket to a name that is also a row for socket FD, as another user might. */
static int bind_row_of(int fd)
{
	int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat st;
	size_t length;

	ck_assert_int_eq(fstat(fd, &st), 0);
	length = (size_t)snprintf(
		address.sun_path + 1, sizeof(address.sun_path) - 1,
		"x\n0000000000000000: 00000003 00000000 00000000 0001 03 %lu /forged",
		(unsigned long)st.st_ino);
	ck_assert_int_eq(bind(made, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)),
			 0);
	return made;
}

/* The peer of a socket of TCP stays known. Of two rows of a Unix socket, none is used. */
START_TEST(forged_rows_of_sockets)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int own = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), forged[2];
	static const uintptr_t none[3];
	struct wait wait;

	open_fds();
	wait_look_detail(WAIT_ALL);
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "wait_look %d", getpid());
	ck_assert_int_eq(bind(own, (struct sockaddr *)&address, sizeof(address)), 0);
	wait = wait_in(SYS_read, (uintptr_t)own, none);
	ck_assert_msg(wait.object && strstr(wait.object, address.sun_path + 1), "%s", wait.object);
	wait_clear(&wait);
	wait_object_forget();
	forged[0] = bind_row_of(own);
	forged[1] = bind_row_of(fds[SOCKET_FD]);
	wait = wait_in(SYS_read, (uintptr_t)own, none);
	ck_assert_ptr_null(wait.object);
	wait_clear(&wait);
	wait = wait_in(SYS_read, (uintptr_t)fds[SOCKET_FD], none);
	ck_assert_str_eq(wait.object, port);
	wait_clear(&wait);
	close(forged[0]);
	close(forged[1]);
	close(own);
}
END_TEST

#define UNIX_LINE "00000000202c85e8: 00000002 00000000 00010000 0001 "

static const struct {
	const char *line;
	int protocol;
	bool is_socket, has_peer;
	uint64_t inode;
	const char *text;
} socket_rows[] = {
	{ "   0: 0100007F:1F90 0200007F:C0A8 01 00000000:00000000 00:00000000 00000000  1000"
	  "        0 12345 1 0000000000000000 20 4 30 10 -1\n",
	  IPPROTO_TCP, true, true, 12345, "tcp 127.0.0.2:49320" },
	/* The peer has closed its end. */
	{ "   0: 0100007F:1F90 0200007F:C0A8 08 00000000:00000000 00:00000000 00000000  1000"
	  "        0 12345 1 0000000000000000 20 4 30 10 -1\n",
	  IPPROTO_TCP, true, true, 12345, "tcp 127.0.0.2:49320" },
	{ "  10: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0"
	  "        0 77 1 0000000000000000 100 0 0 10 0\n",
	  IPPROTO_TCP, true, false, 77, "tcp 0.0.0.0:8080" },
	{ "   1: 00000000000000000000000001000000:0016 00000000000000000000000001000000:0017 01"
	  " 00000000:00000000 00:00000000 00000000     0        0 78 1\n",
	  IPPROTO_TCP, true, true, 78, "tcp [::1]:23" },
	{ "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n",
	  IPPROTO_TCP, false, false, 0, "" },
	{ "   0: 01:1F90 02:C0A8 01 0:0 0:0 0 1000 0 0 1\n", IPPROTO_TCP, false, false, 0, "" },
	{ "", IPPROTO_TCP, false, false, 0, "" },
	{ UNIX_LINE "01 474120 /run/a b.sock\n", 0, true, false, 474120, "unix /run/a b.sock" },
	{ UNIX_LINE "03 474121 @name\n", 0, true, true, 474121, "unix @name" },
	{ UNIX_LINE "03 474122\n", 0, true, true, 474122, "unix" },
	{ UNIX_LINE "03\n", 0, false, false, 0, "" },
	{ "Num       RefCount Protocol Flags    Type St Inode Path\n", 0, false, false, 0, "" },
};

START_TEST(lines_of_sockets)
{
	int protocol = socket_rows[_i].protocol;
	struct socket_row row = { .protocol = protocol };
	const char *line = socket_rows[_i].line;
	char text[WAIT_OBJECT_MAX];

	ck_assert_int_eq(protocol ? socket_row_parse_inet(&row, line)
				  : socket_row_parse_unix(&row, line),
			 socket_rows[_i].is_socket);
	ck_assert_uint_eq(socket_row_inode(line, protocol ? 9 : 6), socket_rows[_i].inode);
	if (!socket_rows[_i].is_socket)
		return;
	ck_assert_int_eq(row.has_peer, socket_rows[_i].has_peer);
	wait_object_of_address(&row.address.any, row.size, row.protocol, text);
	ck_assert_str_eq(text, socket_rows[_i].text);
}
END_TEST

/* Closed connections, which belong to no process, and then one that is open. */
static int closed_rows;

static FILE *open_long_list(const char *path)
{
	FILE *file = tmpfile();

	ck_assert_ptr_nonnull(file);
	for (int i = 0; i < closed_rows && strstr(path, "tcp"); i++)
		fprintf(file,
			"%4d: 0100007F:1F90 0100007F:%04X 06 00000000:00000000 03:00000000 "
			"00000000     0"
			"        0 0 3 0000000000000000\n",
			i, i % 60000 + 1);
	fputs(socket_rows[0].line, file);
	rewind(file);
	return file;
}

static unsigned rows_found, rows_needed;

static bool needs_list(bool is_unix)
{
	return !is_unix && rows_found < rows_needed;
}

static bool is_wanted_row(uint64_t inode)
{
	return inode == socket_rows[0].inode;
}

static bool find_row(uint64_t inode, const struct socket_row *row)
{
	ck_assert_uint_eq(inode, socket_rows[0].inode);
	rows_found += row->has_peer && row->protocol == IPPROTO_TCP;
	return rows_found < rows_needed;
}

/* In the lists of TCP and of TCP over IPv6; or in the first one only. */
START_TEST(a_socket_after_many_closed_ones)
{
	closed_rows = 100000;
	rows_needed = (unsigned)_i;
	ck_assert(socket_table_read(open_long_list, needs_list, is_wanted_row, find_row));
	ck_assert_uint_eq(rows_found, rows_needed < 2 ? 1 : 2);
}
END_TEST

START_TEST(a_socket_after_too_many_closed_ones)
{
	rows_found = 0;
	closed_rows = SOCKET_ROWS_MAX;
	rows_needed = 1;
	ck_assert(!socket_table_read(open_long_list, needs_list, is_wanted_row, find_row));
	ck_assert_uint_eq(rows_found, 0);
}
END_TEST

/* The longest path has no terminating NUL. */
START_TEST(longest_path_of_a_socket)
{
	char line[512], text[WAIT_OBJECT_MAX], path[301];
	struct socket_row row;

	memset(path, 'p', 300);
	path[300] = '\0';
	snprintf(line, sizeof(line), UNIX_LINE "01 1 %s\n", path);
	ck_assert(socket_row_parse_unix(&row, line));
	wait_object_of_address(&row.address.any, row.size, 0, text);
	ck_assert_uint_eq(strlen(text), strlen("unix ") + 108);
}
END_TEST

static const struct {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		char bytes[112];
	} address;
	socklen_t size;
	const char *text;
} addresses[] = {
	{ { .in = { .sin_family = AF_INET, .sin_port = 0x3815, .sin_addr = { 0x0100007f } } },
	  sizeof(struct sockaddr_in),
	  "tcp 127.0.0.1:5432" },
	{ { .in6 = { .sin6_family = AF_INET6,
		     .sin6_port = 0x3815,
		     .sin6_addr = IN6ADDR_LOOPBACK_INIT } },
	  sizeof(struct sockaddr_in6),
	  "tcp [::1]:5432" },
	{ { .bytes = "\1\0/run/s" }, 8, "unix /run/s" },
	{ { .bytes = "\1\0\0name" }, 7, "unix @name" },
	{ { .bytes = "\1\0" }, 2, "unix" },
	{ { .bytes = "\1" }, 1, "" },
	{ { .bytes = "\x63\0" }, 16, "" },
};

START_TEST(texts_of_addresses)
{
	char text[WAIT_OBJECT_MAX];

	wait_object_of_address(&addresses[_i].address.any, addresses[_i].size, IPPROTO_TCP, text);
	ck_assert_str_eq(text, addresses[_i].text);
}
END_TEST

static const struct {
	struct wait wait;
	const char *lines;
} waits[] = {
	{ { 0 }, "" },
	{ { .state = WAIT_RUNNABLE, .number = 7 }, "state=runnable\n" },
	{ { .state = WAIT_WAITING,
	    .cause = WAIT_FILE,
	    .number = SYS_fsync,
	    .object = (char *)"/a" },
	  "state=waiting\ncause=file\ncall=fsync\non=/a\n" },
	{ { .state = WAIT_WAITING,
	    .cause = WAIT_LOCK,
	    .number = SYS_futex,
	    .lock = 0x10,
	    .owner = 5 },
	  "state=waiting\ncause=lock\ncall=futex\non=lock 0x10\nowner=5\n" },
	{ { .state = WAIT_WAITING, .cause = WAIT_CONDITION, .number = SYS_futex, .lock = 0x10 },
	  "state=waiting\ncause=condition\ncall=futex\n" },
	{ { .state = WAIT_WAITING, .cause = WAIT_CHILD, .number = SYS_futex, .owner = 5 },
	  "state=waiting\ncause=child\ncall=futex\non=thread 5\n" },
	{ { .state = WAIT_WAITING, .cause = WAIT_SYSCALL, .number = 9999 },
	  "state=waiting\ncause=syscall\ncall=9999\n" },
	{ { .state = WAIT_WAITING, .cause = WAIT_PAGE_FAULT, .number = -1 },
	  "state=waiting\ncause=page-fault\n" },
};

START_TEST(lines_of_waits)
{
	char lines[WAIT_LINES_MAX] = "";

	ck_assert_uint_eq(wait_lines(&waits[_i].wait, lines), strlen(waits[_i].lines));
	ck_assert_str_eq(lines, waits[_i].lines);
}
END_TEST

START_TEST(functions_of_the_kernel)
{
	ck_assert_int_eq(wait_cause_of_function("futex_do_wait"), WAIT_LOCK);
	ck_assert_int_eq(wait_cause_of_function("do_epoll_wait"), WAIT_IDLE);
	ck_assert_int_eq(wait_cause_of_function("anon_pipe_read"), WAIT_PIPE_READ);
	ck_assert_int_eq(wait_cause_of_function("hrtimer_nanosleep"), WAIT_SLEEP);
	ck_assert_int_eq(wait_cause_of_function("unknown"), WAIT_SYSCALL);
	/* Writers of one file, with fsync(2). */
	ck_assert_int_eq(wait_cause_of_function("submit_bio_wait"), WAIT_FILE);
	ck_assert_int_eq(wait_cause_of_function("__filemap_get_folio"), WAIT_FILE);
	ck_assert_int_eq(wait_cause_of_function("__folio_lock"), WAIT_FILE);
	ck_assert_int_eq(wait_cause_of_function("inode_wait_for_writeback"), WAIT_FILE);
	ck_assert_int_eq(wait_cause_of_function("ext4_buffered_write_iter"), WAIT_FILE);
	ck_assert_int_eq(wait_cause_of_function("__sync_dirty_buffer"), WAIT_FILE);
}
END_TEST

static _Atomic pid_t spinning;
static _Atomic bool stops;

static void *spins(void *unused)
{
	spinning = (pid_t)syscall(SYS_gettid);
	while (!stops)
		;
	return unused;
}

/* Until the kernel shows it running: it may wait for a page first. */
START_TEST(a_thread_that_runs)
{
	struct wait_seen seen = { 0 };
	struct wait wait = { 0 };
	pthread_t thread;

	wait_look_detail(WAIT_ALL);
	ck_assert_int_eq(pthread_create(&thread, NULL, spins, NULL), 0);
	while (!spinning)
		sched_yield();
	do
		wait_look(&wait, spinning, 1000, &seen);
	while (wait.state != WAIT_RUNNING && wait.state != WAIT_RUNNABLE);
	ck_assert_uint_eq(seen.cpu_ns, 1000);
	/* It has not run since. */
	wait_look(&wait, spinning, 1000, &seen);
	ck_assert_int_eq(wait.state, WAIT_RUNNABLE);
	wait_look_detail(WAIT_OFF);
	ck_assert_int_eq(seen.call_fd, 0); /* there is no descriptor table for it */
	ck_assert(!wait_is_over(&seen));
	ck_assert(wait_has_ended(spinning, &seen));
	wait_look(&wait, spinning, 2000, &seen);
	ck_assert_int_eq(wait.state, WAIT_UNKNOWN);
	stops = true;
	pthread_join(thread, NULL);
	wait_look_detail(WAIT_ALL);
	wait_look(&wait, 0x3fffffff, 1000, &seen); /* no such thread */
	ck_assert_int_eq(wait.state, WAIT_UNKNOWN);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof(*(array))))

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_loop_test(tests, contents_of_the_file, 0, COUNT(texts));
	tcase_add_loop_test(tests, causes_of_calls, 0, COUNT(calls));
	tcase_add_loop_test(tests, timers_of_event_loops, 0, COUNT(loops));
	tcase_add_test(tests, pipes_and_sockets);
	tcase_add_test(tests, forged_rows_of_sockets);
	tcase_add_loop_test(tests, a_socket_after_many_closed_ones, 1, 4);
	tcase_add_test(tests, a_socket_after_too_many_closed_ones);
	tcase_add_loop_test(tests, lines_of_sockets, 0, COUNT(socket_rows));
	tcase_add_test(tests, longest_path_of_a_socket);
	tcase_add_loop_test(tests, texts_of_addresses, 0, COUNT(addresses));
	tcase_add_loop_test(tests, lines_of_waits, 0, COUNT(waits));
	tcase_add_test(tests, functions_of_the_kernel);
	tcase_add_test(tests, a_thread_that_runs);
	return suite_run(tests);
}
