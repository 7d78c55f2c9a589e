/* endpoint/listener: the socket belongs to its owner as soon as it has a name. */
#include "endpoint/listener.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

static char directory[] = "/tmp/listener-test-XXXXXX";
static char path[64];
static mode_t bound; /* the mode of the name after bind(2) */
static unsigned by_name;

/* Replacements for calls of the listener. Between bind(2) and a change of the mode by name, another
 * user could put a link there. */
int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	int result = (int)syscall(SYS_bind, fd, address, length);
	struct stat st;

	if (!result && address->sa_family == AF_UNIX && !stat(path, &st))
		bound = st.st_mode;
	return result;
}

int chmod(const char *name, mode_t mode)
{
	by_name++;
	return (int)syscall(SYS_fchmodat, AT_FDCWD, name, mode);
}

START_TEST(mode_is_set_without_the_name)
{
	static const mode_t masks[] = { 0, 022, 077 };
	char text[sizeof(path) + 8];
	struct config config = { .listen = text };
	struct listener listener;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/socket", directory);
	snprintf(text, sizeof(text), "unix:%s", path);
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		umask(masks[i]);
		bound = 0;
		ck_assert_int_eq(listener_open(&listener, &config), 0);
		ck_assert_uint_eq(bound, S_IFSOCK | 0600);
		listener_close(&listener);
		ck_assert_int_ne(access(path, F_OK), 0);
	}
	ck_assert_uint_eq(by_name, 0);
	rmdir(directory);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("listener");

	tcase_add_test(tcase, mode_is_set_without_the_name);
	return suite_run(tcase);
}
