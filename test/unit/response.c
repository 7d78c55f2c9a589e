/* endpoint/response: heads, and bodies from memory and from a file. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/memory/account.h"
#include "core/shared.h"
#include "endpoint/response.h"
#include "endpoint/status.h"
#include "test/fixtures/suite.h"

#define FILE_BYTES 100000

static int64_t captures(void)
{
	return atomic_load(&shared->memory.captures);
}

/* Receive the body of RESPONSE in pieces, and compare it with BYTES of C. */
static void check_body(const struct response *response, char c, size_t bytes)
{
	static char got[FILE_BYTES];
	size_t at = 0;
	int ends[2];

	ck_assert_uint_eq(response_length(response), bytes);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	while (at < bytes) {
		ssize_t sent = response_send(response, ends[0], at);

		ck_assert_int_gt(sent, 0);
		ck_assert_int_eq(recv(ends[1], got + at, (size_t)sent, MSG_WAITALL), sent);
		at += (size_t)sent;
	}
	for (at = 0; at < bytes; at++)
		ck_assert_int_eq(got[at], c);
	close(ends[0]);
	close(ends[1]);
}

START_TEST(from_memory)
{
	struct response response = RESPONSE_INIT;
	struct buf head = BUF_INIT(4096);

	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(buf_append_string(&response.body, "m"), 0);
	ck_assert_int_eq(response_write_head(&response, &head), 0);
	ck_assert_ptr_nonnull(strstr(buf_string(&head), "\r\nContent-Length: 1000\r\n"));
	check_body(&response, 'm', 1000);
	response_free(&response);
	buf_free(&head);
}
END_TEST

/* The file counts as a capture until the response is freed. */
START_TEST(from_a_file)
{
	static char content[FILE_BYTES];
	struct response response = RESPONSE_INIT;
	struct buf head = BUF_INIT(4096);
	int fd = memfd_create("capture", MFD_CLOEXEC);

	memset(content, 'f', sizeof(content));
	ck_assert_int_eq(write(fd, content, sizeof(content)), FILE_BYTES);
	memory_add_capture(FILE_BYTES);
	ck_assert_int_eq(response_set_file(&response, fd), 0);
	ck_assert_int_eq(response_write_head(&response, &head), 0);
	ck_assert_ptr_nonnull(strstr(buf_string(&head), "\r\nContent-Length: 100000\r\n"));
	check_body(&response, 'f', FILE_BYTES);
	ck_assert_int_eq(captures(), FILE_BYTES);
	response_free(&response);
	ck_assert_int_eq(captures(), 0);
	ck_assert_int_eq(close(fd), -1);
	buf_free(&head);
}
END_TEST

/* Programs may have a name in another encoding than UTF-8. JSON and metrics with such bytes are rejected. */
START_TEST(invalid_text)
{
	struct buf out = BUF_INIT(1u << 16);
	struct live_status status = { .executable = "caf\xe9 \"\xc3\xa9\"" };
	struct status_cost cost = { 0 };

	response_append_json(&out, "caf\xe9 \xe2\x82\xac \xc3");
	ck_assert_str_eq(buf_string(&out), "\"caf\\ufffd \xe2\x82\xac \\ufffd\"");
	buf_reset(&out);
	ck_assert_int_eq(status_write_metrics(&out, &status, &cost, false), 0);
	ck_assert_ptr_nonnull(
		strstr(buf_string(&out), "executable=\"caf\xef\xbf\xbd \\\"\xc3\xa9\\\"\""));
	buf_free(&out);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("response");

	tcase_add_test(tcase, from_memory);
	tcase_add_test(tcase, from_a_file);
	tcase_add_test(tcase, invalid_text);
	return suite_run(tcase);
}
