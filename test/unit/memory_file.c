/* core/memory_file: files in memory, or unnamed files elsewhere if the kernel has none, without a
 * trace. */
#include "core/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "core/fd.h"
#include "test/fixtures/folder.h"
#include "test/fixtures/suite.h"
#include "test/programs/filter.h"

#define FLAGS ((unsigned)offsetof(struct seccomp_data, args) + 16)

/* From here on this process has no memfd_create(2), and, as before Linux 3.11, no unnamed files. */
static void be_old(void)
{
	static struct sock_filter filter[] = {
		LOAD_NUMBER,
		ON_CALL(SYS_memfd_create, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FLAGS),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EISDIR),
		OTHERWISE(SECCOMP_RET_ALLOW),
	};
	static struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	ck_assert(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	ck_assert(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void check_is_file(int fd)
{
	struct stat st;

	ck_assert_int_ge(fd, FD_FLOOR);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fd_write(fd, "text", 4, 0), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq((int)st.st_nlink, 0);
	ck_assert_int_eq((int)st.st_mode & 077, 0);
	close(fd);
}

START_TEST(is_in_memory)
{
	int fd = memory_file_open("test");

	ck_assert_int_ge(fcntl(fd, F_GET_SEALS), 0); /* which no other file has */
	close(fd);
}
END_TEST

START_TEST(is_elsewhere)
{
	be_old();
	check_is_file(memory_file_open("test"));
}
END_TEST

START_TEST(leaves_no_name)
{
	folder_make();
	if (_i)
		be_old();
	check_is_file(memory_file_open_in(folder));
	ck_assert_int_eq(folder_count(""), 0);
	folder_remove();
}
END_TEST

START_TEST(says_why_there_is_none)
{
	ck_assert_int_eq(memory_file_open_in("/proc/none"), -ENOENT);
	be_old();
	ck_assert_int_eq(memory_file_open_in("/proc/none"), -ENOENT);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("memory_file");

	tcase_add_test(tcase, is_in_memory);
	if (!getenv("TEST_RUNNER")) { /* an emulator accepts no filter */
		tcase_add_test(tcase, is_elsewhere);
		tcase_add_loop_test(tcase, leaves_no_name, 0, 2);
		tcase_add_test(tcase, says_why_there_is_none);
	}
	return suite_run(tcase);
}
