/* asyncprof/stream_calls.c: lines and directories as the C library reads them. */
#include "asyncprof/stream_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asyncprof/block_allocator.h"
#include "asyncprof/memory_calls.h"
#include "test/fixtures/suite.h"

#define NAMES 3000

static char place[64], path[128];

static void set_up(void)
{
	strcpy(place, "/tmp/engine_streams.XXXXXX");
	ck_assert_ptr_ne(mkdtemp(place), NULL);
	snprintf(path, sizeof(path), "%s/file", place);
}

static void tear_down(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", place);
	ck_assert_int_eq(system(command), 0);
}

static void write_file(const char *text, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, length), (ssize_t)length);
	close(fd);
}

/* Lines of all lengths, some longer than the buffer; the last one has no end. */
static size_t make_lines(char *text)
{
	static const size_t lengths[] = { 0,    1,    2,    126,   127, 128, 5000,
					  8190, 8191, 8192, 20000, 3,   0,   7 };
	size_t length = 0;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memset(text + length, 'a' + (int)i, lengths[i]);
		length += lengths[i];
		text[length++] = '\n';
	}
	return length - 1;
}

static void same_lines(int size)
{
	char line[30000], as[30000], *got;
	FILE *file = engine_fopen(path, "r"), *other = fopen(path, "r");

	ck_assert(block_is_ours(file));
	do {
		got = fgets(as, size, other);
		ck_assert_ptr_eq(engine_fgets(line, size, file), got ? line : NULL);
		if (got)
			ck_assert_str_eq(line, as);
	} while (got);
	ck_assert_ptr_eq(engine_fgets(line, size, file), NULL);
	ck_assert_int_eq(engine_fclose(file), 0);
	fclose(other);
}

START_TEST(lines)
{
	static char text[100000];

	write_file(text, make_lines(text));
	for (int size = 2; size <= 30000; size = size * 3 / 2)
		same_lines(size);
}
END_TEST

START_TEST(lines_of_any_length)
{
	static char text[100000];
	char *line = NULL, *as = NULL;
	size_t size = 0, as_size = 0;
	FILE *file, *other;
	ssize_t length;

	write_file(text, make_lines(text));
	file = engine_fopen(path, "re");
	other = fopen(path, "re");
	do {
		length = getdelim(&as, &as_size, '\n', other);
		ck_assert_int_eq(engine_getdelim(&line, &size, '\n', file), length);
		if (length >= 0)
			ck_assert_str_eq(line, as);
	} while (length >= 0);
	engine_free(line);
	free(as);
	engine_fclose(file);
	fclose(other);
}
END_TEST

/* From a descriptor, at its present position; and from one that the C library has opened. */
START_TEST(of_others)
{
	char line[16];
	FILE *file;
	int fd;

	write_file("one\ntwo\n", 8);
	fd = open(path, O_RDONLY);
	ck_assert_int_eq(lseek(fd, 4, SEEK_SET), 4);
	file = engine_fdopen(fd, "r");
	ck_assert_str_eq(engine_fgets(line, sizeof(line), file), "two\n");
	engine_fclose(file);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	file = fopen(path, "r");
	ck_assert_str_eq(engine_fgets(line, sizeof(line), file), "one\n");
	ck_assert_int_eq(engine_fclose(file), 0);
}
END_TEST

START_TEST(refused)
{
	ck_assert_ptr_eq(engine_fopen(path, "r"), NULL);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_ptr_eq(engine_fopen(path, "w"), NULL);
	ck_assert_int_eq(errno, EACCES);
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_ptr_eq(engine_opendir(path), NULL);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

static size_t count_names(DIR *dir)
{
	static bool seen[NAMES];
	struct dirent *entry;
	size_t count = 0;

	memset(seen, 0, sizeof(seen));
	while ((entry = engine_readdir(dir))) {
		size_t n = strtoul(entry->d_name, NULL, 10);

		if (*entry->d_name == '.')
			continue;
		ck_assert_uint_lt(n, NAMES);
		ck_assert(!seen[n]);
		ck_assert_int_eq(entry->d_type, DT_REG);
		seen[n] = true;
		count++;
	}
	return count;
}

/* More than are read at once. */
START_TEST(directories)
{
	char name[160];
	DIR *dir;

	for (size_t i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "%s/%zu", place, i);
		ck_assert_int_eq(mknod(name, S_IFREG | 0600, 0), 0);
	}
	dir = engine_opendir(place);
	ck_assert_uint_eq(count_names(dir), NAMES);
	ck_assert_uint_eq(count_names(dir), 0);
	engine_rewinddir(dir);
	ck_assert_uint_eq(count_names(dir), NAMES);
	ck_assert_int_eq(engine_closedir(dir), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_streams");
	TCase *all = tcase_create("all");

	tcase_add_checked_fixture(all, set_up, tear_down);
	tcase_add_test(all, lines);
	tcase_add_test(all, lines_of_any_length);
	tcase_add_test(all, of_others);
	tcase_add_test(all, refused);
	tcase_add_test(all, directories);
	suite_add_tcase(suite, all);
	return suite_run_all(suite);
}
