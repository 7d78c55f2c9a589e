/* Makes transfers of which a sample cuts off the rest, or is noted although nothing is left (cuts.h). Prints "ok": the
 * program sees the results that a call has without samples. */
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"
#include "test/programs/cuts.h"

#define WHOLE SIZE_MAX

static char data[4096];
static int near, far;

static void send_more(void)
{
	CHECK(send(far, data, 16, MSG_DONTWAIT) == 16);
}

static void open_pair(int type)
{
	int ends[2];

	CHECK(!socketpair(AF_UNIX, type, 0, ends));
	near = ends[0];
	far = ends[1];
}

static void close_pair(void)
{
	close(near);
	close(far);
}

/* MSG_WAITALL has no effect on messages. */
static void receive_one_message(int type)
{
	open_pair(type);
	send_more();
	cut_tries(1, WHOLE, send_more);
	CHECK(recv(near, data, sizeof(data), MSG_WAITALL) == 16);
	CHECK(recv(near, data, sizeof(data), MSG_DONTWAIT) == 16);
	close_pair();
}

static void receive_from_stream(void)
{
	open_pair(SOCK_STREAM);
	send_more();
	cut_tries(1, 16, send_more);
	CHECK(recv(near, data, 32, MSG_WAITALL) == 32);
	close_pair();
}

static struct iovec part = { data, sizeof(data) };

static int receive_messages(int flags, struct timespec *timeout)
{
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } },
				       { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } } };
	int result;

	open_pair(SOCK_DGRAM);
	send_more();
	cut_tries(1, 1, send_more);
	result = recvmmsg(near, messages, 2, flags, timeout);
	close_pair();
	return result;
}

static void receive_several_messages(void)
{
	struct timespec soon = { .tv_nsec = 1 }, late = { .tv_sec = 100 };

	CHECK(receive_messages(MSG_WAITFORONE, NULL) == 1);
	CHECK(receive_messages(0, &soon) == 1);
	CHECK(receive_messages(0, &late) == 2);
	CHECK(receive_messages(0, NULL) == 2);
}

/* Return a listening socket; its address is in ANY. */
static int open_listener(struct sockaddr_in *any)
{
	socklen_t length = sizeof(*any);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	*any = (struct sockaddr_in){ .sin_family = AF_INET };
	any->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!bind(listener, (struct sockaddr *)any, length) && !listen(listener, 1));
	CHECK(!getsockname(listener, (struct sockaddr *)any, &length));
	return listener;
}

static void open_connection(void)
{
	struct sockaddr_in any;
	int listener = open_listener(&any);

	far = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!connect(far, (struct sockaddr *)&any, sizeof(any)));
	near = accept(listener, NULL, NULL);
	CHECK(near >= 0);
	close(listener);
}

static void reset(void)
{
	struct linger none = { .l_onoff = 1 };

	CHECK(!setsockopt(far, SOL_SOCKET, SO_LINGER, &none, sizeof(none)) && !close(far));
}

static void send_and_reset(void)
{
	send_more();
	reset();
}

/* The rest arrives before the error. */
static void receive_until_reset(void (*then)(void), ssize_t wanted)
{
	open_connection();
	send_more();
	cut_tries(1, 16, then);
	CHECK(recv(near, data, 64, MSG_WAITALL) == wanted);
	CHECK(recv(near, data, 64, MSG_WAITALL) == -1 && errno == ECONNRESET);
	CHECK(!close(near));
}

static ssize_t do_send(void)
{
	return send(near, data, sizeof(data), 0);
}

static ssize_t do_write(void)
{
	return write(near, data, sizeof(data));
}

static void send_until_reset(ssize_t (*call)(void))
{
	open_connection();
	cut_tries(1, 16, reset);
	CHECK(call() == 16);
	CHECK(call() == -1 && errno == ECONNRESET);
	CHECK(!close(near));
}

static void close_far(void)
{
	CHECK(!close(far));
}

/* Without SIGPIPE, which comes at the next call. */
static void send_until_closed(ssize_t (*call)(void))
{
	open_pair(SOCK_STREAM);
	cut_tries(1, 16, close_far);
	CHECK(call() == 16);
	CHECK(!close(near));
}

static void shut_down(void)
{
	CHECK(!shutdown(near, SHUT_WR));
}

static void send_until_shut_down(void)
{
	open_pair(SOCK_STREAM);
	cut_tries(1, 16, shut_down);
	CHECK(do_send() == 16);
	close_pair();
}

/* A call that does not wait still does not, and one that waits gets all. */
static void send_to_full_socket(int flags)
{
	ssize_t done;

	open_pair(SOCK_STREAM);
	while (send(near, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	CHECK(read(far, data, sizeof(data)) > 0);
	cut_tries(1, 16, NULL);
	done = send(near, data, sizeof(data), flags);
	CHECK(done >= 16 && done <= (ssize_t)sizeof(data));
	close_pair();
}

/* An error that arrives while a call waits for the next message. */
static void receive_messages_until_refused(void)
{
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } },
				       { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } } };
	struct sockaddr_in any = { .sin_family = AF_INET }, other = any;
	socklen_t length = sizeof(any);
	pid_t pid;

	other.sin_addr.s_addr = any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	near = socket(AF_INET, SOCK_DGRAM, 0);
	far = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(!bind(near, (struct sockaddr *)&any, length) &&
	      !getsockname(near, (struct sockaddr *)&any, &length));
	CHECK(!bind(far, (struct sockaddr *)&other, length) &&
	      !getsockname(far, (struct sockaddr *)&other, &length));
	CHECK(!connect(near, (struct sockaddr *)&other, length) &&
	      !connect(far, (struct sockaddr *)&any, length));
	send_more();
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		usleep(100000);
		close(far);
		send(near, data, 16, 0);
		_exit(0);
	}
	cut_tries(1, 1, close_far);
	CHECK(recvmmsg(near, messages, 2, 0, NULL) == 1);
	CHECK(recv(near, data, sizeof(data), MSG_DONTWAIT) == -1 && errno == ECONNREFUSED);
	CHECK(waitpid(pid, NULL, 0) == pid && !close(near));
}

static void fail_during_rests(void)
{
	receive_until_reset(reset, 16);
	receive_until_reset(send_and_reset, 32);
	signal(SIGPIPE, SIG_DFL);
	send_until_reset(do_send);
	send_until_reset(do_write);
	send_until_closed(do_send);
	send_until_closed(do_write);
	send_until_shut_down();
	send_to_full_socket(MSG_DONTWAIT);
	receive_messages_until_refused();
}

static void write_to_slave(void)
{
	CHECK(write(far, "abc", 3) == 3);
}

/* The minimum is the slave's. A read of the master returns what there is. */
static void read_master(void)
{
	struct termios settings;

	near = posix_openpt(O_RDWR | O_NOCTTY);
	CHECK(near >= 0 && !grantpt(near) && !unlockpt(near));
	far = open(ptsname(near), O_RDWR | O_NOCTTY);
	CHECK(far >= 0 && !tcgetattr(far, &settings));
	cfmakeraw(&settings);
	settings.c_cc[VMIN] = 200;
	CHECK(!tcsetattr(far, TCSANOW, &settings));
	write_to_slave();
	cut_tries(1, WHOLE, write_to_slave);
	CHECK(read(near, data, sizeof(data)) == 3);
	close_pair();
}

/* Each read(2) returns one record: a line, and others that begin with a space. */
static void read_kernel_log(void)
{
	static char record[8193];
	ssize_t length;

	near = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	cut_tries(1, WHOLE, NULL);
	length = near < 0 ? -1 : read(near, record, sizeof(record) - 1);
	cut_tries(0, 0, NULL);
	if (length <= 0)
		puts("no kernel log");
	for (const char *end = strchr(record, '\n'); end; end = strchr(end + 1, '\n'))
		CHECK(!end[1] || end[1] == ' ');
	close(near);
}

static void read_device(const char *path, ssize_t wanted)
{
	near = open(path, O_RDONLY);
	CHECK(near >= 0);
	cut_tries(1, 16, NULL);
	CHECK(read(near, data, sizeof(data)) == wanted);
	cut_tries(0, 0, NULL);
	CHECK(!close(near));
}

static void read_devices(void)
{
	read_device("/dev/zero", sizeof(data));
	read_device("/dev/full", sizeof(data));
	read_device("/dev/urandom", sizeof(data));
	read_device("/dev/null", 0);
	read_master();
	read_kernel_log();
}

#define FILE_MOST 1000

static ssize_t do_pwrite(void)
{
	return pwrite(near, data, sizeof(data), 0);
}

static ssize_t do_copy(void)
{
	return copy_file_range(far, NULL, near, NULL, sizeof(data), 0);
}

static ssize_t do_copy_at(void)
{
	off_t at = 0;

	return copy_file_range(far, NULL, near, &at, sizeof(data), 0);
}

static ssize_t do_append(void)
{
	CHECK(!fcntl(near, F_SETFL, O_APPEND));
	return pwrite(near, data, sizeof(data), 5);
}

static ssize_t (*const file_calls[])(void) = {
	do_write, do_pwrite, do_copy, do_copy_at, do_append,
};

/* A part up to RLIMIT_FSIZE is written without SIGXFSZ, which comes at the next call; all below the limit. */
static void write_to_limit(ssize_t (*call)(void), size_t most, size_t part)
{
	near = memfd_create("near", 0);
	CHECK(near >= 0 && !lseek(far, 0, SEEK_SET));
	cut_tries(1, part, NULL);
	CHECK(call() == (ssize_t)most);
	cut_tries(0, 0, NULL);
	CHECK(!close(near));
}

static void write_to_limits(void)
{
	struct rlimit before, limit;

	far = memfd_create("far", 0);
	CHECK(far >= 0 && !ftruncate(far, sizeof(data)));
	CHECK(!getrlimit(RLIMIT_FSIZE, &before));
	limit = (struct rlimit){ FILE_MOST, before.rlim_max };
	for (size_t i = 0; i < sizeof(file_calls) / sizeof(*file_calls); i++) {
		write_to_limit(file_calls[i], sizeof(data), 16);
		CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
		write_to_limit(file_calls[i], FILE_MOST, WHOLE);
		write_to_limit(file_calls[i], FILE_MOST, 16);
		CHECK(!setrlimit(RLIMIT_FSIZE, &before));
	}
	CHECK(!close(far));
}

/* The program counts its calls, the kernel those with the flag. */
static void send_without_copies(void)
{
	char control[256];
	struct msghdr message = { .msg_control = control };
	const struct sock_extended_err *notification;
	unsigned notified = 0;
	int one = 1;

	open_connection();
	if (setsockopt(near, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		return;
	for (int i = 0; i < 2; i++) {
		cut_tries(1, 16, NULL);
		CHECK(send(near, data, sizeof(data), MSG_ZEROCOPY) == sizeof(data));
	}
	CHECK(recv(far, data, sizeof(data), MSG_WAITALL) == sizeof(data));
	for (int tries = 0; tries < 20; tries++) {
		message.msg_controllen = sizeof(control);
		if (recvmsg(near, &message, MSG_ERRQUEUE) < 0) {
			usleep(10000);
			continue;
		}
		notification = (const void *)CMSG_DATA(CMSG_FIRSTHDR(&message));
		if (notification->ee_data >= notified)
			notified = notification->ee_data + 1;
	}
	CHECK(notified == 2);
	close_pair();
}

/* The first part connects. */
static void send_to_listener(void)
{
	struct sockaddr_in any;
	int listener = open_listener(&any);
	ssize_t sent;

	near = socket(AF_INET, SOCK_STREAM, 0);
	cut_tries(1, 16, NULL);
	sent = sendto(near, data, sizeof(data), MSG_FASTOPEN, (struct sockaddr *)&any, sizeof(any));
	CHECK(sent == sizeof(data) || (sent == -1 && errno == EOPNOTSUPP));
	cut_tries(0, 0, NULL);
	close(listener);
	close(near);
}

/* More than LIMIT_US for all. */
#define DRIPS    40
#define DRIP_US  20000
#define LIMIT_US 200000

static void drip(void)
{
	usleep(DRIP_US);
}

static void limit_time(void)
{
	struct timeval limit = { .tv_usec = LIMIT_US };

	CHECK(!setsockopt(near, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	CHECK(!setsockopt(near, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)));
}

/* A time limit is one of the whole call; also if a sample follows each part. */
static void receive_within_limit(void (*open)(void))
{
	ssize_t received;
	pid_t pid;

	open();
	limit_time();
	pid = fork();
	CHECK(pid >= 0);
	for (int i = 0; !pid; i++) {
		if (i == DRIPS)
			_exit(0);
		drip();
		send(far, data, 1, 0);
	}
	cut_tries(DRIPS, 1, NULL);
	received = recv(near, data, DRIPS, MSG_WAITALL);
	cut_tries(0, 0, NULL);
	CHECK(received > 0 && received < DRIPS);
	CHECK(waitpid(pid, NULL, 0) == pid);
	close_pair();
}

static void open_stream(void)
{
	open_pair(SOCK_STREAM);
}

/* A Unix socket has the limit for each of its pieces. */
static void send_within_limit(void (*open)(void), ssize_t most)
{
	ssize_t sent;

	open();
	limit_time();
	cut_tries(DRIPS, 1, drip);
	sent = send(near, data, DRIPS, 0);
	cut_tries(0, 0, NULL);
	CHECK(sent > 0 && sent <= most && (sent == most || most < DRIPS));
	close_pair();
}

static void transfer_within_limits(void)
{
	receive_within_limit(open_connection);
	receive_within_limit(open_stream);
	send_within_limit(open_connection, DRIPS - 1);
	send_within_limit(open_stream, DRIPS);
}

int main(void)
{
	alarm(20);
	CHECK(cut_tries);
	receive_one_message(SOCK_DGRAM);
	receive_one_message(SOCK_SEQPACKET);
	receive_from_stream();
	receive_several_messages();
	fail_during_rests();
	read_devices();
	write_to_limits();
	send_without_copies();
	send_to_listener();
	transfer_within_limits();
	puts("ok");
	return 0;
}
