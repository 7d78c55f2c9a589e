/* Sources of recordings: streams that are read twice, and files that are truncated while they are
 * read. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decoder/input/source_open.h"
#include "test/fixtures/suite.h"

/* Data of a pipe, opened by its path as with a shell's <(...). */
START_TEST(stream_twice)
{
	struct source *first, *second;
	char path[64];
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], "a recording", 11), 11);
	close(ends[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	ck_assert_int_eq(source_open(&first, path), 0);
	ck_assert_int_eq(source_open(&second, path), 0);
	ck_assert_uint_eq(first->length, 11);
	ck_assert_uint_eq(second->length, 11);
	ck_assert_mem_eq(second->data, "a recording", 11);
	source_close(first);
	source_close(second);
	close(ends[0]);
}
END_TEST

/* In a separate process: touch the mapping of a truncated file. */
static void read_what_is_gone(int out)
{
	int fd = memfd_create("cut", MFD_CLOEXEC);
	volatile uint8_t byte;
	struct source *source;
	char path[64];

	dup2(out, STDERR_FILENO);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	source_handle_bus_errors();
	if (ftruncate(fd, 1 << 20) || source_open(&source, path) || ftruncate(fd, 0))
		_exit(99);
	byte = source->data[8192];
	_exit(byte ? 98 : 97);
}

START_TEST(cut_off)
{
	char text[256] = "";
	int ends[2], status;
	pid_t child;

	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child)
		read_what_is_gone(ends[1]);
	close(ends[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 1);
	ck_assert_int_gt(read(ends[0], text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text, "asprof-agent: a file was truncated while it was read\n");
	close(ends[0]);
}
END_TEST

START_TEST(not_there)
{
	struct source *source;

	ck_assert_int_lt(source_open(&source, "/no/such/file"), 0);
	ck_assert_int_lt(source_open(&source, "/"), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("source");

	tcase_add_test(tcase, stream_twice);
	tcase_add_test(tcase, cut_off);
	tcase_add_test(tcase, not_there);
	return suite_run(tcase);
}
