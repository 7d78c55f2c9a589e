/* decoder/live/target: a process stays the one that was opened, and its user is taken over
 * completely. */
#include "decoder/live/target.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text/auxv.h"
#include "decoder/live/jvm_attach.h"
#include "test/fixtures/suite.h"

/* A child that waits until it is killed. */
static pid_t begin_child(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	ck_assert_int_gt(child, 0);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}

START_TEST(is_lost_with_its_process)
{
	pid_t child = begin_child();
	struct target_user user;
	struct target target;
	int fd;

	ck_assert_int_eq(target_open(&target, child), 0);
	fd = target_open_file(&target, "status", O_RDONLY);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert(target_shares_link(&target, "ns/net"));
	ck_assert(!target_shares_link(&target, "exe") || target_shares_link(&target, "root"));
	end_child(child);
	ck_assert_int_lt(target_open_file(&target, "status", O_RDONLY), 0);
	ck_assert_int_lt(target_user_read(&user, &target), 0);
	ck_assert(!target_shares_link(&target, "ns/net"));
	target_close(&target);
	ck_assert_int_eq(target_open(&target, child), -ESRCH);
}
END_TEST

static void *note_thread(void *arg)
{
	atomic_store((_Atomic pid_t *)arg, (pid_t)syscall(SYS_gettid));
	pause();
	return NULL;
}

START_TEST(is_no_thread)
{
	_Atomic pid_t tid = 0;
	struct target target;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, note_thread, &tid), 0);
	while (!tid)
		usleep(1000);
	ck_assert_int_eq(target_open(&target, tid), -ESRCH);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}
END_TEST

/* In a child, because the test keeps its own user. */
static void in_child(int (*check)(void))
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(check());
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "line %d",
		      WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

#define EXPECT(condition)                \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

static int become_another(void)
{
	gid_t groups[] = { 7, 4242 }, had[8];
	struct target_user user = { .uid = 65534,
				    .gid = 65533,
				    .groups = groups,
				    .group_count = 2 },
			   now = { 0 };
	struct target self;

	EXPECT(!target_user_become(&user));
	EXPECT(getgroups(8, had) == 2 && had[0] == 7 && had[1] == 4242);
	EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && !prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	EXPECT(setresuid(0, 0, 0) && setresgid(0, 0, 0) && setgroups(0, NULL));
	EXPECT(!prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); /* so that it may read its own memory again */
	EXPECT(!target_open(&self, getpid()) && !target_user_read(&now, &self));
	user.seccomp = now.seccomp;
	EXPECT(target_user_equals(&now, &user) && !now.capabilities);
	target_close(&self);
	target_user_free(&now);
	return 0;
}

static int become_root_without_capabilities(void)
{
	struct target_user user = { .capabilities = 1u << 1 }, now = { 0 };
	struct target self;

	EXPECT(!target_user_become(&user));
	EXPECT(!prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); /* so that it may read its own memory again */
	EXPECT(!target_open(&self, getpid()) && !target_user_read(&now, &self));
	EXPECT((now.capabilities & ~(UINT64_C(1) << 1)) == 0 && !now.group_count);
	target_close(&self);
	target_user_free(&now);
	return 0;
}

static int become_nobody_without_rights(void)
{
	struct target_user user = { .uid = 65534, .gid = 65534 },
			   other = { .uid = 65533, .gid = 65534 };

	EXPECT(!target_user_become(&user));
	EXPECT(!target_user_become(&user)); /* one is that user already */
	EXPECT(target_user_become(&other) == -EPERM);
	return 0;
}

START_TEST(becomes_its_user)
{
	if (geteuid())
		return;
	in_child(become_another);
	in_child(become_root_without_capabilities);
	in_child(become_nobody_without_rights);
}
END_TEST

static int read_of_several(void)
{
	struct target_user user;
	struct target self;

	EXPECT(!target_open(&self, getpid()));
	EXPECT(!setresuid(65534, 0, 0) && target_user_read(&user, &self) == -ENOTUNIQ);
	EXPECT(!setresuid(0, 0, 0) && !setresgid(0, 0, 65534));
	EXPECT(target_user_read(&user, &self) == -ENOTUNIQ);
	return 0;
}

START_TEST(has_one_user)
{
	if (!geteuid())
		in_child(read_of_several);
}
END_TEST

/* Of a 64-bit and of a 32-bit program. */
START_TEST(auxiliary_vectors)
{
	static const uint64_t wide[] = { 6, 4096, 23, 1, 0, 0 };
	static const uint32_t narrow[] = { 6, 4096, 23, 1, 0, 0 };
	uint64_t value;

	ck_assert(auxv_find(&value, wide, sizeof(wide), 8, 23));
	ck_assert_uint_eq(value, 1);
	ck_assert(!auxv_find(&value, wide, sizeof(wide), 8, 24));
	ck_assert(!auxv_find(&value, wide, 24, 8, 23)); /* cut off */
	ck_assert(!auxv_find(&value, NULL, 0, 8, 23));
	ck_assert(!auxv_find(&value, narrow, sizeof(narrow), 8, 23));
	ck_assert(auxv_find(&value, narrow, sizeof(narrow), 4, 6));
	ck_assert_uint_eq(value, 4096);
}
END_TEST

/* Without a descriptor for the pipe. (A sanitizer needs some at the end.) */
START_TEST(a_profile_without_a_pipe_has_a_problem)
{
	const struct jvm_profile profile = { .pid = getpid() };
	struct rlimit before, none;
	char problem[JVM_PROBLEM_MAX] = "";
	struct buf recording = BUF_INIT(1);

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_max = before.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(jvm_profile_make(&profile, &recording, problem), -EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_str_eq(problem, "cannot create a pipe: Too many open files");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("target");

	tcase_add_test(tcase, auxiliary_vectors);
	tcase_add_test(tcase, a_profile_without_a_pipe_has_a_problem);
	tcase_add_test(tcase, is_lost_with_its_process);
	tcase_add_test(tcase, is_no_thread);
	tcase_add_test(tcase, becomes_its_user);
	tcase_add_test(tcase, has_one_user);
	return suite_run(tcase);
}
