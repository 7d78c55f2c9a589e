/* Makes calls that move many bytes, which a signal ends after a part of them, with SA_RESTART or
 * not; and calls of terminals and sleeps that end at a signal. Prints "ok": with a profiler's
 * signals each does all of its work, as without. */
#include <aio.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

#define BYTES  (4u << 20)
#define PIECES 3

static char data[BYTES];
static int near, zero, random_bytes, from, to;
static off_t begin;

static struct iovec pieces[PIECES] = { { data, 1 },
				       { data + 1, BYTES / 2 },
				       { data + 1 + BYTES / 2, BYTES / 2 - 1 } };
static struct msghdr message = { .msg_iov = pieces, .msg_iovlen = PIECES };

static ssize_t do_write(void)
{
	return write(near, data, BYTES);
}

static ssize_t do_writev(void)
{
	return writev(near, pieces, PIECES);
}

static ssize_t do_send(void)
{
	return send(near, data, BYTES, 0);
}

static ssize_t do_sendto(void)
{
	return sendto(near, data, BYTES, 0, NULL, 0);
}

static ssize_t do_sendmsg(void)
{
	return sendmsg(near, &message, 0);
}

static ssize_t do_recv(void)
{
	return recv(near, data, BYTES, MSG_WAITALL);
}

static ssize_t do_recvfrom(void)
{
	return recvfrom(near, data, BYTES, MSG_WAITALL, NULL, NULL);
}

static ssize_t do_recvmsg(void)
{
	return recvmsg(near, &message, MSG_WAITALL);
}

static ssize_t do_sendfile(void)
{
	begin = 0;
	return sendfile(near, from, &begin, BYTES);
}

static ssize_t do_copy_file_range(void)
{
	begin = 0;
	return copy_file_range(from, &begin, to, NULL, BYTES, 0);
}

static ssize_t do_read(void)
{
	return read(zero, data, BYTES);
}

static ssize_t do_readv(void)
{
	return readv(zero, pieces, PIECES);
}

static ssize_t do_getrandom(void)
{
	return getrandom(data, BYTES, 0);
}

static ssize_t do_pread(void)
{
	return pread(zero, data, BYTES, 1);
}

static ssize_t do_pread64(void)
{
	return pread64(zero, data, BYTES, 1);
}

static ssize_t do_preadv(void)
{
	return preadv(zero, pieces, PIECES, 1);
}

static ssize_t do_preadv2(void)
{
	return preadv2(zero, pieces, PIECES, -1, 0);
}

static ssize_t do_pwritev2(void)
{
	return pwritev2(near, pieces, PIECES, -1, 0);
}

static ssize_t do_pwrite(void)
{
	return pwrite(random_bytes, data, BYTES, 1);
}

static ssize_t do_raw_read(void)
{
	return syscall(SYS_read, zero, data, BYTES);
}

static ssize_t do_raw_preadv2(void)
{
	return syscall(SYS_preadv2, zero, pieces, PIECES, 0L, 0L, 0);
}

static ssize_t do_raw_write(void)
{
	return syscall(SYS_write, near, data, BYTES);
}

static ssize_t do_raw_sendfile(void)
{
	begin = 0;
	return syscall(SYS_sendfile, near, from, &begin, (size_t)BYTES);
}

static ssize_t do_raw_getrandom(void)
{
	return syscall(SYS_getrandom, data, (size_t)BYTES, 0);
}

/* All messages count for all bytes. */
#define MESSAGES (BYTES / 4096)

static struct mmsghdr messages[MESSAGES];

static ssize_t all_messages(int (*call)(int fd))
{
	static struct iovec parts[MESSAGES];
	int done;

	for (size_t i = 0; i < MESSAGES; i++) {
		parts[i] = (struct iovec){ data + i * 4096, 4096 };
		messages[i] =
			(struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[i], .msg_iovlen = 1 } };
	}
	done = call(near);
	return done == MESSAGES ? (ssize_t)BYTES : done;
}

static int send_messages(int fd)
{
	return sendmmsg(fd, messages, MESSAGES, 0);
}

static int receive_messages(int fd)
{
	return recvmmsg(fd, messages, MESSAGES, 0, NULL);
}

static ssize_t do_sendmmsg(void)
{
	return all_messages(send_messages);
}

static ssize_t do_recvmmsg(void)
{
	return all_messages(receive_messages);
}

enum peer { NONE, READS, WRITES };

static const struct {
	const char *name;
	ssize_t (*call)(void);
	enum peer peer;
} transfers[] = {
	{ "write", do_write, READS },
	{ "writev", do_writev, READS },
	{ "send", do_send, READS },
	{ "sendto", do_sendto, READS },
	{ "sendmsg", do_sendmsg, READS },
	{ "recv", do_recv, WRITES },
	{ "recvfrom", do_recvfrom, WRITES },
	{ "recvmsg", do_recvmsg, WRITES },
	{ "sendfile", do_sendfile, READS },
	{ "copy_file_range", do_copy_file_range, NONE },
	{ "read", do_read, NONE },
	{ "readv", do_readv, NONE },
	{ "getrandom", do_getrandom, NONE },
	{ "pread", do_pread, NONE },
	{ "pread64", do_pread64, NONE },
	{ "preadv", do_preadv, NONE },
	{ "preadv2", do_preadv2, NONE },
	{ "pwritev2", do_pwritev2, READS },
	{ "pwrite", do_pwrite, NONE },
	{ "raw read", do_raw_read, NONE },
	{ "raw preadv2", do_raw_preadv2, NONE },
	{ "raw write", do_raw_write, READS },
	{ "raw sendfile", do_raw_sendfile, READS },
	{ "raw getrandom", do_raw_getrandom, NONE },
	{ "sendmmsg", do_sendmmsg, READS },
	{ "recvmmsg", do_recvmmsg, WRITES },
};

/* The other end of a socket, which is slow. */
static void be_peer(int far, enum peer peer)
{
	static const struct timespec moment = { .tv_nsec = 500000 };
	static char part[BYTES / 64];
	ssize_t n;

	do {
		nanosleep(&moment, NULL);
		n = peer == READS ? read(far, part, sizeof(part)) : write(far, part, sizeof(part));
	} while (n > 0);
	_exit(0);
}

static pid_t start_peer(enum peer peer)
{
	int ends[2];
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	near = ends[0];
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(near);
		be_peer(ends[1], peer);
	}
	close(ends[1]);
	return pid;
}

static void transfer(size_t i)
{
	pid_t pid = start_peer(transfers[i].peer);
	ssize_t done;

	errno = ENOTTY;
	for (int n = 0; n < 5; n++) {
		done = transfers[i].call();
		if (done != BYTES || errno != ENOTTY) {
			printf("%s: %zd, errno %d\n", transfers[i].name, done, errno);
			exit(1);
		}
	}
	close(near);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static uint64_t now_ns(void);

static int do_tcdrain(int fd)
{
	return tcdrain(fd);
}

static int do_tcsendbreak(int fd)
{
	return tcsendbreak(fd, 0);
}

static int do_tcsetattr(int fd)
{
	struct termios settings;

	CHECK(!tcgetattr(fd, &settings));
	return tcsetattr(fd, TCSADRAIN, &settings);
}

static int do_ioctl(int fd)
{
	return ioctl(fd, TCSBRK, 1);
}

static int do_raw_ioctl(int fd)
{
	return (int)syscall(SYS_ioctl, fd, TCSBRK, 1L);
}

static int (*const terminal_calls[])(int) = {
	do_tcdrain, do_tcsendbreak, do_tcsetattr, do_ioctl, do_raw_ioctl,
};

#define TERMINAL_NS  200000000
#define TERMINAL_MIN 40

/* A read with a minimum number of bytes, which come one by one. */
static void read_terminal(int master, int terminal)
{
	static const struct timespec moment = { .tv_nsec = 300000 };
	struct termios settings;
	char bytes[TERMINAL_MIN];
	pid_t pid;

	CHECK(!tcgetattr(terminal, &settings));
	cfmakeraw(&settings);
	settings.c_cc[VMIN] = TERMINAL_MIN;
	settings.c_cc[VTIME] = 0;
	CHECK(!tcsetattr(terminal, TCSANOW, &settings));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		for (int i = 0; i < TERMINAL_MIN; i++) {
			nanosleep(&moment, NULL);
			CHECK(write(master, "x", 1) == 1);
		}
		_exit(0);
	}
	CHECK(read(terminal, bytes, sizeof(bytes)) == TERMINAL_MIN);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static void use_terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), terminal;
	uint64_t end;

	CHECK(master >= 0 && !grantpt(master) && !unlockpt(master));
	terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	CHECK(terminal >= 0);
	for (size_t i = 0; i < sizeof(terminal_calls) / sizeof(*terminal_calls); i++) {
		end = now_ns() + TERMINAL_NS;
		while (now_ns() < end)
			if (terminal_calls[i](terminal)) {
				printf("terminal call %zu: errno %d\n", i, errno);
				exit(1);
			}
	}
	read_terminal(master, terminal);
	close(terminal);
	close(master);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#define SLEEP_NS 50000000

/* The remaining time is written over the requested time. */
static void do_clock_nanosleep(void)
{
	struct timespec time = { .tv_nsec = SLEEP_NS };

	CHECK(!clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time));
}

static void do_nanosleep(void)
{
	struct timespec time = { .tv_nsec = SLEEP_NS };

	CHECK(!nanosleep(&time, &time));
}

static void do_thrd_sleep(void)
{
	struct timespec time = { .tv_nsec = SLEEP_NS };

	CHECK(!thrd_sleep(&time, &time));
}

static void do_aio_suspend(void)
{
	static const struct timespec time = { .tv_nsec = SLEEP_NS };
	struct aiocb operation = { .aio_buf = data, .aio_nbytes = 1 };
	const struct aiocb *operations[] = { &operation };
	int ends[2];

	CHECK(!pipe(ends));
	operation.aio_fildes = ends[0];
	CHECK(!aio_read(&operation));
	CHECK(aio_suspend(operations, 1, &time) == -1 && errno == EAGAIN);
	CHECK(write(ends[1], "", 1) == 1);
	CHECK(!aio_suspend(operations, 1, NULL));
	close(ends[0]);
	close(ends[1]);
}

/* A connection with more sent data than arrives before the other end starts to read. */
static int start_lingering(void)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 10 };
	struct sockaddr_in any = { .sin_family = AF_INET };
	socklen_t length = sizeof(any);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd;

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!bind(listener, (struct sockaddr *)&any, length) && !listen(listener, 1));
	CHECK(!getsockname(listener, (struct sockaddr *)&any, &length));
	if (!fork()) { /* before there is a socket that it would keep open */
		fd = accept(listener, NULL, NULL);
		usleep(2 * SLEEP_NS / 1000);
		while (read(fd, data, sizeof(data)) > 0)
			;
		_exit(0);
	}
	close(listener);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!connect(fd, (struct sockaddr *)&any, length));
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	errno = 0;
	CHECK(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	return fd;
}

static void do_close(void)
{
	CHECK(!close(start_lingering()));
}

static void do_fclose(void)
{
	CHECK(!fclose(fdopen(start_lingering(), "r+")));
}

static void do_dup2(void)
{
	int fd = start_lingering();

	CHECK(dup2(zero, fd) == fd && !close(fd));
}

static void do_dup3(void)
{
	int fd = start_lingering();

	CHECK(dup3(zero, fd, O_CLOEXEC) == fd && !close(fd));
}

static void (*const sleeps[])(void) = {
	do_clock_nanosleep, do_nanosleep, do_thrd_sleep, do_aio_suspend,
	do_close,           do_fclose,    do_dup2,       do_dup3,
};

int main(void)
{
	uint64_t start;

	zero = open("/dev/zero", O_RDONLY);
	random_bytes = open("/dev/urandom", O_RDWR);
	from = memfd_create("from", 0);
	to = memfd_create("to", 0);
	CHECK(zero >= 0 && random_bytes >= 0 && from >= 0 && to >= 0 && !ftruncate(from, BYTES));
	for (size_t i = 0; i < sizeof(transfers) / sizeof(transfers[0]); i++)
		transfer(i);
	use_terminal();
	for (size_t i = 0; i < sizeof(sleeps) / sizeof(sleeps[0]); i++) {
		start = now_ns();
		sleeps[i]();
		if (now_ns() - start < SLEEP_NS) {
			printf("sleep %zu ended early\n", i);
			return 1;
		}
	}
	puts("ok");
	return 0;
}
