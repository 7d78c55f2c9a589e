/* Makes transfers of which a sample cuts off the rest, or is noted although nothing is left (cuts.h). Prints "ok": the
 * program sees the results that a call has without samples. */
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
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

int main(void)
{
	alarm(20);
	CHECK(cut_tries);
	receive_one_message(SOCK_DGRAM);
	receive_one_message(SOCK_SEQPACKET);
	receive_from_stream();
	receive_several_messages();
	puts("ok");
	return 0;
}
