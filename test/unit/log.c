/* core/log: one line each, up to a level, and only if it is enabled. */
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/kernel.h"
#include "test/fixtures/suite.h"

static char path[] = "/tmp/log-test-XXXXXX";
static char text[8192];

static void setup(void)
{
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
}

/* The file's present content. */
static const char *written(void)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	close(fd);
	return text;
}

START_TEST(says_up_to_its_level)
{
	char expected[128];

	ck_assert_int_eq(log_open(LOG_WARN, path), 0);
	log_debug("debug");
	log_info("info");
	log_warn("warn %d", 1);
	log_error("error %s", "two");
	snprintf(expected, sizeof(expected),
		 "asprof-agent[%d]: warn 1\nasprof-agent[%d]: error two\n", getpid(), getpid());
	ck_assert_str_eq(written(), expected);
}
END_TEST

START_TEST(says_nothing_when_off)
{
	ck_assert_int_eq(log_open(LOG_OFF, path), 0);
	log_error("error");
	ck_assert_str_eq(written(), "");
}
END_TEST

START_TEST(one_line_whatever_it_says)
{
	static char much[4000];

	memset(much, 'x', sizeof(much) - 1);
	ck_assert_int_eq(log_open(LOG_WARN, path), 0);
	log_warn("two\nlines\033[2J");
	log_warn("%s", much);
	ck_assert_ptr_nonnull(strstr(written(), "two lines?[2J\n"));
	ck_assert_uint_le(strlen(text), 2048);
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	ck_assert_ptr_eq(strchr(strchr(text, '\n') + 1, '\n'), text + strlen(text) - 1);
}
END_TEST

/* Characters that control a terminal: escapes, C1 controls in UTF-8 and as bytes, direction marks. */
START_TEST(says_no_controls)
{
	ck_assert_int_eq(log_open(LOG_WARN, path), 0);
	log_warn("\xc3\xa9 \xc2\x9b \xe2\x80\xae \x9b\x7f\x1b[2J %s", "\xe2\x81\xa6");
	ck_assert_ptr_nonnull(strstr(written(), ": \xc3\xa9 ?? ??? ???[2J ???\n"));
}
END_TEST

START_TEST(preserves_errno)
{
	ck_assert_int_eq(log_open(LOG_WARN, path), 0);
	errno = EDOM;
	log_warn("warn");
	ck_assert_int_eq(errno, EDOM);
}
END_TEST

START_TEST(cannot_be_opened)
{
	ck_assert_int_eq(log_open(LOG_WARN, "/nowhere/at/all"), -ENOENT);
}
END_TEST

/* A file that the program opens with stderr's number is not written to. */
START_TEST(stderr_alone)
{
	int file = open(path, O_WRONLY), other[2];

	ck_assert_int_eq(pipe(other), 0);
	ck_assert_int_eq(fcntl(other[0], F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(dup2(file, STDERR_FILENO), STDERR_FILENO);
	ck_assert_int_eq(log_open(LOG_WARN, NULL), 0);
	log_warn("before");
	ck_assert_int_eq(dup2(other[1], STDERR_FILENO), STDERR_FILENO);
	log_warn("after");
	ck_assert_int_eq(read(other[0], text, sizeof(text)), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_ptr_nonnull(strstr(written(), "before"));
	ck_assert_ptr_null(strstr(text, "after"));
}
END_TEST

START_TEST(reader_is_gone)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	ck_assert_int_eq(log_open(LOG_WARN, NULL), 0);
	signal(SIGPIPE, SIG_DFL);
	close(ends[0]);
	log_warn("no reader"); /* SIGPIPE does not end the process */
}
END_TEST

static void log_to_file(void)
{
	int file = open(path, O_WRONLY);

	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(dup2(file, STDERR_FILENO), STDERR_FILENO);
	ck_assert_int_eq(log_open(LOG_WARN, NULL), 0);
}

/* All files have the maximum size. (The framework's too, so nothing may be checked meanwhile.) */
static void warn_at_limit(void)
{
	struct rlimit limit, none;

	getrlimit(RLIMIT_FSIZE, &limit);
	none = (struct rlimit){ 0, limit.rlim_max };
	setrlimit(RLIMIT_FSIZE, &none);
	log_warn("refused");
	setrlimit(RLIMIT_FSIZE, &limit);
}

START_TEST(file_is_at_its_limit)
{
	struct stat st;

	log_to_file();
	signal(SIGXFSZ, SIG_DFL);
	warn_at_limit(); /* SIGXFSZ does not end the process */
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 0);
}
END_TEST

/* Replaces a trapped write(2): the program gets a signal meanwhile. */
static volatile bool signal_comes;

static void write_by_another_call(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
#if defined(__x86_64__)
	greg_t *r = uc->uc_mcontext.gregs;
	struct iovec part = { .iov_base = (void *)r[REG_RSI], .iov_len = (size_t)r[REG_RDX] };
	int fd = (int)r[REG_RDI];
#elif defined(__aarch64__)
	unsigned long long *r = uc->uc_mcontext.regs;
	struct iovec part = { .iov_base = (void *)r[1], .iov_len = (size_t)r[2] };
	int fd = (int)r[0];
#endif
	long result;

	(void)signo;
	(void)info;
	if (signal_comes)
		kill(getpid(), SIGPIPE);
	result = kernel_call4(SYS_writev, fd, (long)&part, 1, 0);
#if defined(__x86_64__)
	r[REG_RAX] = result;
#elif defined(__aarch64__)
	r[0] = (unsigned long long)result;
#endif
}

/* For the rest of this process. */
static void trap_writes(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = steps };
	struct sigaction action = { .sa_sigaction = write_by_another_call, .sa_flags = SA_SIGINFO };

	ck_assert_int_eq(sigaction(SIGSYS, &action, NULL), 0);
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static volatile sig_atomic_t signals;

static void count(int signo)
{
	(void)signo;
	signals++;
}

START_TEST(a_signal_of_the_program_stays)
{
	ck_assert_int_eq(log_open(LOG_WARN, path), 0);
	signal(SIGPIPE, count);
	trap_writes();
	signal_comes = true;
	log_warn("while it comes");
	signal_comes = false;
	ck_assert_int_eq(signals, 1);
}
END_TEST

static void close_reader(void)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	ck_assert_int_eq(log_open(LOG_WARN, NULL), 0);
	close(ends[0]);
}

static int send_to_process(int signo)
{
	return kill(getpid(), signo);
}

static int send_to_thread(int signo)
{
	return pthread_kill(pthread_self(), signo);
}

static const struct {
	void (*refuse)(void);
	int signo;
	int (*send)(int signo);
} refusals[] = {
	{ close_reader, SIGPIPE, send_to_process },
	{ close_reader, SIGPIPE, send_to_thread },
	{ log_to_file, SIGXFSZ, send_to_process },
	{ log_to_file, SIGXFSZ, send_to_thread },
};

/* The program's own signal, which it has blocked, is pending once after a line that was refused. */
START_TEST(a_pending_signal_stays)
{
	static const struct timespec at_once;
	int signo = refusals[_i].signo;
	sigset_t set;

	refusals[_i].refuse();
	sigemptyset(&set);
	sigaddset(&set, signo);
	ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	ck_assert_int_eq(refusals[_i].send(signo), 0);
	warn_at_limit();
	ck_assert_int_eq(sigtimedwait(&set, NULL, &at_once), signo);
	ck_assert_int_eq(sigtimedwait(&set, NULL, &at_once), -1);
}
END_TEST

static void make_fifo(void)
{
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
}

START_TEST(a_fifo_without_a_reader_is_refused)
{
	make_fifo();
	ck_assert_int_eq(log_open(LOG_WARN, path), -ENXIO);
}
END_TEST

/* A reader that does not read, or has ended. */
START_TEST(waits_for_no_reader)
{
	int reader;

	make_fifo();
	reader = open(path, O_RDONLY | O_NONBLOCK);
	ck_assert_int_ge(reader, 0);
	ck_assert_int_eq(log_open(LOG_WARN, path), 0);
	for (int i = 0; i < 3000; i++)
		log_warn("line %d of more than a pipe holds", i);
	ck_assert_int_gt(read(reader, text, sizeof(text) - 1), 0);
	ck_assert_ptr_nonnull(strstr(text, "line 0 of more"));
	close(reader);
	log_warn("no reader"); /* SIGPIPE does not end the process */
}
END_TEST

/* Neither is stderr. */
START_TEST(waits_for_no_reader_of_stderr)
{
	int ends[2], end = dup(STDERR_FILENO);

	ck_assert_int_eq(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	ck_assert_int_eq(log_open(LOG_WARN, NULL), 0);
	for (int i = 0; i < 3000; i++)
		log_warn("line %d of more than a pipe holds", i);
	dup2(end, STDERR_FILENO);
	ck_assert_int_gt(read(ends[0], text, sizeof(text)), 0);
}
END_TEST

/* A file that another user has put there must not be written to with this user's rights, nor a
 * link's target. */
START_TEST(only_a_file_of_its_own)
{
	char other[64];

	snprintf(other, sizeof(other), "%s.other", path);
	ck_assert_int_eq(symlink(path, other), 0);
	ck_assert_int_eq(log_open(LOG_WARN, other), -ELOOP);
	unlink(other);
	ck_assert_int_eq(symlink("/nowhere/at/all", other), 0);
	ck_assert_int_eq(log_open(LOG_WARN, other), -ELOOP);
	unlink(other);
	ck_assert_int_eq(link(path, other), 0);
	ck_assert_int_eq(log_open(LOG_WARN, other), -EPERM);
	unlink(other);
	ck_assert_int_eq(log_open(LOG_WARN, path), 0);
	ck_assert_int_eq(log_open(LOG_WARN, "/dev/null"), 0);
	ck_assert_int_eq(log_open(LOG_WARN, "/dev/zero"), -EPERM);
	if (!geteuid()) {
		ck_assert_int_eq(chown(path, 65534, 65534), 0);
		ck_assert_int_eq(log_open(LOG_WARN, path), -EPERM);
	}
	log_warn("to stderr");
	ck_assert_str_eq(written(), "");
}
END_TEST

/* The same when it is opened again. */
START_TEST(not_a_link_that_comes_later)
{
	char other[64];

	snprintf(other, sizeof(other), "%s.other", path);
	ck_assert_int_eq(log_open(LOG_WARN, other), 0);
	unlink(other);
	ck_assert_int_eq(symlink(path, other), 0);
	log_warn("to stderr");
	unlink(other);
	ck_assert_str_eq(written(), "");
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, says_up_to_its_level);
	tcase_add_test(tests, says_nothing_when_off);
	tcase_add_test(tests, one_line_whatever_it_says);
	tcase_add_test(tests, says_no_controls);
	tcase_add_test(tests, preserves_errno);
	tcase_add_test(tests, cannot_be_opened);
	tcase_add_test(tests, stderr_alone);
	tcase_add_test(tests, reader_is_gone);
	tcase_add_test(tests, file_is_at_its_limit);
	/* (Valgrind and emulators use the traps themselves.) */
	if (!getenv("TEST_RUNNER"))
		tcase_add_test(tests, a_signal_of_the_program_stays);
	tcase_add_loop_test(tests, a_pending_signal_stays, 0, sizeof(refusals) / sizeof(*refusals));
	tcase_add_test(tests, a_fifo_without_a_reader_is_refused);
	tcase_add_test(tests, only_a_file_of_its_own);
	tcase_add_test(tests, not_a_link_that_comes_later);
	tcase_add_test(tests, waits_for_no_reader);
	tcase_add_test(tests, waits_for_no_reader_of_stderr);
	return suite_run(tests);
}
