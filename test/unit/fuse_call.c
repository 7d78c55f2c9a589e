/* engine/wait/fuse_call: which calls may wait for a FUSE server. */
#include "engine/wait/fuse_call.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

static char path[] = "/tmp/asprof-unit-XXXXXX";
static int file, mount_id, ends[2];

static void setup(void)
{
	char name[64], line[128];
	FILE *info;

	file = mkstemp(path);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(pipe(ends), 0);
	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", file);
	info = fopen(name, "r");
	ck_assert_ptr_nonnull(info);
	while (fgets(line, sizeof(line), info))
		sscanf(line, "mnt_id: %d", &mount_id);
	fclose(info);
	ck_assert_int_gt(mount_id, 0);
}

static void teardown(void)
{
	close(file);
	close(ends[0]);
	close(ends[1]);
	unlink(path);
}

/* True if CALL may be one, where file system ID has TYPE. */
static bool is_one(struct thread_call call, int id, const char *type)
{
	FILE *out = fopen(path, "w");

	fprintf(out, "1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n");
	fprintf(out, "%d 1 0:40 / /mnt/a\\040fuse rw - %s source rw,user_id=0\n", id, type);
	fclose(out);
	return fuse_call_is_one(getpid(), &call, path);
}

static struct thread_call a_call(long number, int first)
{
	return (struct thread_call){ .number = number, .arguments = { (uintptr_t)first } };
}

START_TEST(types_of_file_systems)
{
	struct thread_call stat = a_call(SYS_newfstatat, 0);

	ck_assert(is_one(stat, 7, "fuse"));
	ck_assert(is_one(stat, 7, "fuse.sshfs"));
	ck_assert(is_one(stat, 7, "fuseblk"));
	ck_assert(!is_one(stat, 7, "fusectl"));
	ck_assert(!is_one(stat, 7, "ext4"));
}
END_TEST

START_TEST(descriptors_by_their_file_system)
{
	ck_assert(is_one(a_call(SYS_read, file), mount_id, "fuse"));
	ck_assert(is_one(a_call(SYS_fsync, file), mount_id, "fuse"));
	ck_assert(!is_one(a_call(SYS_read, file), mount_id + 100000, "fuse"));
	ck_assert(!is_one(a_call(SYS_read, ends[0]), mount_id, "fuse"));
}
END_TEST

START_TEST(other_calls)
{
	ck_assert(is_one(a_call(SYS_close, 5), 7, "fuse"));
	ck_assert(is_one(a_call(SYS_linkat + 100000, 5), 7, "fuse"));
	ck_assert(!is_one(a_call(SYS_futex, 5), 7, "fuse"));
	ck_assert(!is_one(a_call(SYS_nanosleep, 5), 7, "fuse"));
	ck_assert(!is_one(a_call(SYS_epoll_pwait, 5), 7, "fuse"));
}
END_TEST

/* Beyond the room for their ids every file counts. */
START_TEST(many_mounts)
{
	struct thread_call read = a_call(SYS_read, file);
	FILE *out = fopen(path, "w");

	for (int i = 0; i < 65; i++)
		fprintf(out, "%d 1 0:40 / /mnt rw - fuse source rw\n", 100000 + i);
	fclose(out);
	ck_assert(fuse_call_is_one(getpid(), &read, path));
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, types_of_file_systems);
	tcase_add_test(tests, descriptors_by_their_file_system);
	tcase_add_test(tests, other_calls);
	tcase_add_test(tests, many_mounts);
	return suite_run(tests);
}
