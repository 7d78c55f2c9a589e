/* The table of calls that a signal ends early, and how each is continued. */
#include "preload/interpose/transfer.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "core/clock.h"
#include "core/kernel.h"
#include "core/system.h"
#include "preload/interpose/real.h"
#include "preload/interpose/wait_limit.h"

bool transfer_has_timeouts;

/* What a call transfers, and so how its next part begins. */
enum unit {
	WHOLE,    /* cannot be split: the call is only repeated */
	BYTES,    /* bytes of one buffer */
	PIECES,   /* bytes of an iovec */
	MESSAGE,  /* bytes of a msghdr */
	MESSAGES, /* elements of an array of mmsghdr */
	COUNT,    /* bytes without a buffer, only a number */
};

/* When a short result is due to a sample. Without a signal, the kernel returns less at the end of the data. */
enum completeness {
	ALWAYS,
	DEVICES,  /* reads from devices that fill any buffer, and from terminals up to VMIN */
	WAIT_ALL, /* with MSG_WAITALL, from a stream */
	NOT_ONE,  /* without MSG_WAITFORONE, as long as the time limit is not over */
	PIPED,    /* as long as it does not wait: a pipe gives the data that it has */
};

/* Positions of arguments in a call; 0: none. */
struct row {
	short number;
	unsigned char unit, completeness, what, length, offset, flags;
	unsigned char receives,
		sends; /* the descriptor, if it may be a socket, or a written file */
};

static const struct row rows[] = {
	{ SYS_read, BYTES, DEVICES, .what = 2, .length = 3, .receives = 1 },
	{ SYS_readv, PIECES, DEVICES, .what = 2, .length = 3, .receives = 1 },
	{ SYS_pread64, BYTES, DEVICES, .what = 2, .length = 3, .offset = 4 },
	{ SYS_preadv, PIECES, DEVICES, .what = 2, .length = 3, .offset = 4 },
	{ SYS_preadv2, PIECES, DEVICES, .what = 2, .length = 3, .offset = 4, .receives = 1 },
	{ SYS_recvfrom, BYTES, WAIT_ALL, .what = 2, .length = 3, .flags = 4, .receives = 1 },
	{ SYS_recvmsg, MESSAGE, WAIT_ALL, .what = 2, .flags = 3, .receives = 1 },
	{ SYS_recvmmsg, MESSAGES, NOT_ONE, .what = 2, .length = 3, .flags = 4, .receives = 1 },
	{ SYS_accept, WHOLE, ALWAYS, .receives = 1 },
	{ SYS_accept4, WHOLE, ALWAYS, .receives = 1 },
	{ SYS_write, BYTES, ALWAYS, .what = 2, .length = 3, .sends = 1 },
	{ SYS_writev, PIECES, ALWAYS, .what = 2, .length = 3, .sends = 1 },
	{ SYS_pwrite64, BYTES, ALWAYS, .what = 2, .length = 3, .offset = 4, .sends = 1 },
	{ SYS_pwritev, PIECES, ALWAYS, .what = 2, .length = 3, .offset = 4, .sends = 1 },
	{ SYS_pwritev2, PIECES, ALWAYS, .what = 2, .length = 3, .offset = 4, .sends = 1 },
	{ SYS_sendto, BYTES, ALWAYS, .what = 2, .length = 3, .flags = 4, .sends = 1 },
	{ SYS_sendmsg, MESSAGE, ALWAYS, .what = 2, .flags = 3, .sends = 1 },
	{ SYS_sendmmsg, MESSAGES, ALWAYS, .what = 2, .length = 3, .flags = 4, .sends = 1 },
	{ SYS_connect, WHOLE, ALWAYS, .sends = 1 },
	{ SYS_sendfile, COUNT, ALWAYS, .length = 4, .sends = 1 },
	{ SYS_copy_file_range, COUNT, ALWAYS, .length = 5, .sends = 3 },
	{ SYS_splice, COUNT, PIPED, .length = 5, .flags = 6, .receives = 1, .sends = 3 },
	{ SYS_getrandom, BYTES, ALWAYS, .what = 1, .length = 2 },
	{ SYS_ioctl, WHOLE, ALWAYS, .what = 0 },
};

static const struct row *row_of(long number)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].number == number)
			return &rows[i];
	return NULL;
}

uint64_t transfer_time(void)
{
	return clock_monotonic_ns();
}

/* Return an option of level SOL_SOCKET; -1 if FD is no socket. */
static int socket_option(int fd, int option)
{
	int value = -1;
	socklen_t length = sizeof(value);
	long err = kernel_call6(SYS_getsockopt, fd, SOL_SOCKET, option, (long)&value, (long)&length,
				0);

	return err ? -1 : value;
}

/* ---- Timeouts of sockets ---- */

#define UNLIMITED ((uint64_t)INT64_MAX)

/* Return OPTION's timeout in nanoseconds; -1 without one, or if FD is no socket. */
static int64_t socket_timeout_ns(int fd, int option)
{
	struct timeval timeout = { 0 };
	socklen_t length = sizeof(timeout);

	if (kernel_call6(SYS_getsockopt, fd, SOL_SOCKET, option, (long)&timeout, (long)&length,
			 0) ||
	    (!timeout.tv_sec && !timeout.tv_usec))
		return -1;
	return wait_limit_time(timeout.tv_sec, timeout.tv_usec * 1000);
}

int64_t transfer_timeout_ns(const long call[TRANSFER_LONGS])
{
	const struct row *row = row_of(call[0]);
	int64_t ns = -1;

	if (row && row->receives)
		ns = socket_timeout_ns((int)call[row->receives], SO_RCVTIMEO);
	if (row && row->sends && ns < 0)
		ns = socket_timeout_ns((int)call[row->sends], SO_SNDTIMEO);
	return ns;
}

/* Return what is left of OPTION's timeout since START, in nanoseconds: the kernel measures it from the beginning of each
 * try. */
static uint64_t socket_time_left(int fd, int option, uint64_t start)
{
	uint64_t elapsed = clock_monotonic_ns() - start;
	int64_t ns = socket_timeout_ns(fd, option);

	if (ns < 0)
		return UNLIMITED;
	return (uint64_t)ns > elapsed ? (uint64_t)ns - elapsed : 0;
}

/* True if the timeout begins again with each part of a call. */
static bool timeout_is_for_parts(const struct row *row, const long *call)
{
	return row->unit == COUNT || row->unit == MESSAGES ||
	       (row->sends && socket_option((int)call[row->sends], SO_DOMAIN) == AF_UNIX);
}

static struct pollfd socket_poll(int fd, int option)
{
	return (struct pollfd){ .fd = fd, .events = option == SO_RCVTIMEO ? POLLIN : POLLOUT };
}

/* Wait until FD is ready, if it has a timeout. Returns 0 when the call can be repeated, otherwise -errno. */
static long socket_wait_ready(int fd, int option, uint64_t start)
{
	struct pollfd ready = socket_poll(fd, option);
	uint64_t left = socket_time_left(fd, option, start);
	long result;

	if (left == UNLIMITED)
		return 0;
	result = restart_wait_ready(&ready, left);
	return result ? (result < 0 ? result : 0) : -EAGAIN;
}

/* The same for all sockets of a call. */
static long wait_sockets(const struct row *row, const long *call, uint64_t start)
{
	long err = 0;

	if (!start)
		return 0;
	if (row->receives)
		err = socket_wait_ready((int)call[row->receives], SO_RCVTIMEO, start);
	if (!err && row->sends)
		err = socket_wait_ready((int)call[row->sends], SO_SNDTIMEO, start);
	return err == -EAGAIN && row->number == SYS_connect ? -EINPROGRESS : err;
}

/* ---- Errors of sockets ----
 *
 * After a part the kernel keeps the socket's error for the next call, and sends no SIGPIPE. So the rest must not take
 * them. */

/* RWF_NOWAIT of older headers. */
#define VECTOR_NOWAIT 8

static bool call_may_wait(const struct row *row, const long *call, int fd)
{
	if (row->completeness == PIPED || (row->flags && call[row->flags] & MSG_DONTWAIT) ||
	    (row->number == SYS_pwritev2 && call[6] & VECTOR_NOWAIT))
		return false;
	return !(kernel_call4(SYS_fcntl, fd, F_GETFL, 0, 0) & O_NONBLOCK);
}

/* (A stream has an error only at its end: POLLERR alone is a message of the error queue. Data that arrived before it can
 * still be received. sendmmsg(2) drops a datagram's error.) */
static bool socket_has_failed(const struct pollfd *socket)
{
	bool receives = socket->events == POLLIN;
	int bytes = 0;

	if (socket_option(socket->fd, SO_TYPE) != SOCK_STREAM)
		return receives && socket->revents & POLLERR;
	if (!receives || !(socket->revents & POLLERR))
		return !receives && socket->revents & POLLHUP;
	return socket->revents & POLLHUP &&
	       (kernel_call4(SYS_ioctl, socket->fd, FIONREAD, (long)&bytes, 0) || !bytes);
}

/* How to try the rest of a call. */
struct rest {
	const struct row *row;
	const long *call;
	uint64_t start;
	bool was_full; /* the last try has found no space or no data */
};

/* poll(2) finds no space until much of the buffer is free, as the kernel does after the buffer was full; and no data
 * below SO_RCVLOWAT. Then the call itself has to wait. */
static bool socket_may_poll(const struct rest *rest, int fd, int option)
{
	if (option == SO_RCVTIMEO ? socket_option(fd, SO_RCVLOWAT) > 1 : !rest->was_full)
		return false;
	return call_may_wait(rest->row, rest->call, fd);
}

/* Wait until the rest can be tried. Returns 0, or -errno when it must not be tried. */
static long socket_wait_for_rest(const struct rest *rest, int fd, int option)
{
	struct pollfd ready = socket_poll(fd, option);
	uint64_t left = rest->start ? socket_time_left(fd, option, rest->start) : UNLIMITED;
	bool waits;
	long result;

	if (socket_option(fd, SO_TYPE) < 0)
		return 0;
	waits = socket_may_poll(rest, fd, option);
	if (waits && !left)
		return -EAGAIN;
	result = restart_wait_ready(&ready, waits ? left : 0);
	if (result < 0)
		return result;
	if (socket_has_failed(&ready))
		return -EIO;
	return result || !waits ? 0 : -EAGAIN;
}

static long wait_for_rest(const struct rest *rest)
{
	const struct row *row = rest->row;
	long err = 0;

	if (row->receives)
		err = socket_wait_for_rest(rest, (int)rest->call[row->receives], SO_RCVTIMEO);
	if (!err && row->sends)
		err = socket_wait_for_rest(rest, (int)rest->call[row->sends], SO_SNDTIMEO);
	return err;
}

/* The kernel's internal number for EINTR in a call that it restarts. recvmmsg(2) that a signal ended after a message
 * leaves it as an error for the socket's next call. The next try takes it. */
#define ERESTARTSYS 512

static bool socket_has_left_error(int fd)
{
	struct pollfd socket = socket_poll(fd, SO_RCVTIMEO);

	return restart_wait_ready(&socket, 0) > 0 && socket.revents & POLLERR;
}

/* ---- The rest of a call ---- */

/* The next part of a call, and its position in an array. */
struct part {
	long call[TRANSFER_LONGS];
	const struct iovec *pieces;
	size_t count;
	struct iovec piece;
	struct msghdr message;
};

static void part_begin(struct part *part, const struct row *row, const long *call)
{
	const struct msghdr *message = (const struct msghdr *)call[row->what];

	memcpy(part->call, call, sizeof(part->call));
	part->count = 0;
	if (row->unit == PIECES) {
		part->pieces = (const struct iovec *)call[row->what];
		part->count = (size_t)call[row->length];
		part->call[row->length] = 1;
		part->call[row->what] = (long)&part->piece;
	} else if (row->unit == MESSAGE) {
		part->pieces = message->msg_iov;
		part->count = message->msg_iovlen;
		part->message = (struct msghdr){ .msg_iov = &part->piece, .msg_iovlen = 1 };
		part->call[row->what] = (long)&part->message;
	}
	if (part->count)
		part->piece = *part->pieces;
	if (row->sends && (row->unit == BYTES || row->unit == MESSAGE) && row->flags) {
		part->call[row->flags] |= MSG_NOSIGNAL;
		part->call[row->flags] &= ~(MSG_ZEROCOPY | MSG_FASTOPEN); /* once for a call */
	}
}

static bool part_next_piece(struct part *part, size_t moved)
{
	if (!part->count)
		return false;
	while (moved >= part->piece.iov_len) {
		moved -= part->piece.iov_len;
		if (!--part->count)
			return false;
		part->piece = *++part->pieces;
	}
	part->piece.iov_base = (char *)part->piece.iov_base + moved;
	part->piece.iov_len -= moved;
	return true;
}

/* A message that was sent in part has a rest; the program decides how to continue. */
static bool message_is_whole(const struct mmsghdr *message)
{
	size_t length = 0;

	for (size_t i = 0; i < message->msg_hdr.msg_iovlen; i++)
		length += message->msg_hdr.msg_iov[i].iov_len;
	return message->msg_len >= length;
}

/* Advance PART by MOVED units. Returns whether there are more. */
static bool part_advance(struct part *part, const struct row *row, size_t moved)
{
	long *call = part->call;
	struct mmsghdr *messages;

	if (row->offset && call[row->offset] != -1)
		call[row->offset] += (long)moved;
	switch (row->unit) {
	case BYTES:
		call[row->what] += (long)moved;
		call[row->length] -= (long)moved;
		return call[row->length] > 0;
	case PIECES:
	case MESSAGE:
		return part_next_piece(part, moved);
	case MESSAGES:
		messages = (struct mmsghdr *)call[row->what] + moved;
		call[row->what] = (long)messages;
		call[row->length] -= (long)moved;
		return call[row->length] > 0 &&
		       (row->number != SYS_sendmmsg || message_is_whole(messages - 1));
	case COUNT:
		call[row->length] -= (long)moved;
		return call[row->length] > 0;
	}
	return false;
}

/* ---- Detection of short transfers ---- */

/* Devices that fill any buffer: /dev/mem, /dev/zero, /dev/full, /dev/random and /dev/urandom; /dev/hwrng. (Others of this
 * major number have records, or no bytes.) */
static bool device_is_endless(dev_t device)
{
	static const uint64_t minors = 1 << 1 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9;

	if (device == makedev(10, 183))
		return true;
	return major(device) == 1 && minor(device) < 64 && minors >> minor(device) & 1;
}

/* A terminal in noncanonical mode returns after VMIN bytes; reads with a time limit return the available bytes. Sets
 * MORE to the remaining bytes after DONE. A master has its slave's settings, but does not use them; only a master has
 * a packet mode. */
static bool terminal_wants_more(int fd, size_t done, long *more)
{
	struct termios terminal; /* it begins with the kernel's structure, which is smaller */
	int packets;

	if (kernel_call4(SYS_ioctl, fd, TCGETS, (long)&terminal, 0) || terminal.c_lflag & ICANON ||
	    terminal.c_cc[VTIME] || terminal.c_cc[VMIN] <= done ||
	    !kernel_call4(SYS_ioctl, fd, TIOCGPKT, (long)&packets, 0))
		return false;
	*more = (long)(terminal.c_cc[VMIN] - done);
	return true;
}

static bool device_fills_buffer(struct part *part, const struct row *row, size_t done)
{
	int fd = (int)part->call[1];
	struct stat st;
	long more;

	if (system_stat(fd, &st) || !S_ISCHR(st.st_mode))
		return false;
	if (device_is_endless(st.st_rdev))
		return true;
	if (row->unit != BYTES || row->offset || !terminal_wants_more(fd, done, &more))
		return false;
	if (more < part->call[row->length])
		part->call[row->length] = more;
	return true;
}

static bool call_wants_all(const struct row *row, const long *call)
{
	const struct msghdr *message = (const struct msghdr *)call[row->what];

	/* Not with space for control messages: they would be lost with the rest. */
	if (row->unit == MESSAGE && message->msg_control)
		return false;
	return (call[row->flags] & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL &&
	       socket_option((int)call[1], SO_TYPE) == SOCK_STREAM;
}

/* (The kernel has set the time limit to its rest.) */
static bool call_wants_messages(const long *call)
{
	const struct timespec *left = (const struct timespec *)call[5];

	return !(call[4] & MSG_WAITFORONE) && (!left || left->tv_sec || left->tv_nsec);
}

/* Return the position in file FD where the rest of a call begins. */
static long file_position(const struct row *row, const long *call, int fd, const struct stat *st)
{
	const long *at = (const long *)call[4];

	if (kernel_call4(SYS_fcntl, fd, F_GETFL, 0, 0) & O_APPEND)
		return st->st_size;
	if (row->offset && call[row->offset] != -1)
		return call[row->offset];
	if ((row->number == SYS_copy_file_range || row->number == SYS_splice) && at)
		return *at;
	return kernel_call4(SYS_lseek, fd, 0, SEEK_CUR, 0);
}

/* A write up to RLIMIT_FSIZE is short, and the next one gets SIGXFSZ. */
static bool file_is_at_limit(const struct row *row, const long *call)
{
	int fd = (int)call[row->sends];
	struct rlimit limit;
	struct stat st;

	return row->sends && !system_limit(RLIMIT_FSIZE, &limit) &&
	       limit.rlim_cur != RLIM_INFINITY && !system_stat(fd, &st) && S_ISREG(st.st_mode) &&
	       (rlim_t)file_position(row, call, fd, &st) >= limit.rlim_cur;
}

/* True if DONE is less than all because of a sample. PART is the next part of CALL. */
static bool call_is_cut_short(struct part *part, const struct row *row, const long *call,
			      size_t done)
{
	switch (row->completeness) {
	case DEVICES:
		return device_fills_buffer(part, row, done);
	case WAIT_ALL:
		return call_wants_all(row, call);
	case NOT_ONE:
		return call_wants_messages(call);
	case ALWAYS:
		return !file_is_at_limit(row, part->call);
	case PIPED:
		part->call[row->flags] |= SPLICE_F_NONBLOCK;
		return !file_is_at_limit(row, part->call);
	}
	return true;
}

long transfer_continue(struct restart *restart, uintptr_t frame, uint64_t start, long value,
		       transfer_enter *enter, const long call[TRANSFER_LONGS])
{
	const struct row *row = row_of(call[0]);
	bool left_error = false, was_full = true, goes_on;
	struct part part;
	long done = 0, err;

	for (;;) {
		goes_on = false;
		if (value > 0 && row->unit != WHOLE) {
			goes_on = done && part.count && (size_t)value == part.piece.iov_len;
			if (!done)
				part_begin(&part, row, call);
			done += value;
			if (!part_advance(&part, row, (size_t)value) ||
			    !call_is_cut_short(&part, row, call, (size_t)done))
				break;
			if (start && timeout_is_for_parts(row, call))
				start = clock_monotonic_ns();
			/* (Between other parts of a call the kernel looks for signals without waiting.) */
			was_full = !goes_on && row->unit != COUNT && row->unit != MESSAGES;
			left_error = row->number == SYS_recvmmsg &&
				     socket_has_left_error((int)call[row->receives]);
		} else if (value != -1) {
			break;
		} else if (left_error && (errno == ERESTARTSYS || errno == EINTR) &&
			   program_handled == restart->handled) {
			left_error = false;
			goes_on = true;
		} else if (errno != EINTR) {
			break;
		}
		if (!goes_on && !restart_next(restart, frame))
			break;
		if (left_error)
			err = 0;
		else if (done)
			err = wait_for_rest(&(struct rest){ row, part.call, start, was_full });
		else
			err = wait_sockets(row, call, start);
		if (err) {
			errno = (int)-err;
			value = -1;
			if (err != -EINTR)
				break;
			continue;
		}
		value = enter(done ? part.call : call);
		was_full = true;
	}
	if (restart->is_on)
		restart_end(restart, !done && value == -1);
	return done ? done : value;
}
