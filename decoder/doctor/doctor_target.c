/* Examination of a running process in a child.
 *
 * The environment and files of the process are not trusted: they might abuse the caller's rights. So a child
 * examines them, which has permanently taken the process's credentials and root directory. The caller only opens
 * descriptors and parses the child's answer. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/clock.h"
#include "core/fd.h"
#include "decoder/doctor/doctor.h"
#include "decoder/live/live_endpoint.h"
#include "decoder/live/target.h"
#include "decoder/output/message.h"
#include "profile/basics/text.h"

#define ENVIRONMENT_MAX (4u << 20)

/* Limits of the child: size of its answer, time, and resources. */
#define ANSWER_MAX (256u << 10)
#define ANSWER_NS  60000000000u

static const struct {
	int resource;
	rlim_t limit;
} limits[] = {
	{ RLIMIT_CORE, 0 },
	{ RLIMIT_CPU, 30 },
	{ RLIMIT_FSIZE, 1 << 20 },
	{ RLIMIT_AS, (rlim_t)4 << 30 },
};

/* Descriptors that the child gets. */
enum { FILE_ENVIRONMENT, FILE_MAPS, FILE_PROGRAM, FILE_ROOT, FILE_DIRECTORY, FILE_ANSWER, FILES };

static const struct {
	const char *name;
	int flags;
} files[] = {
	[FILE_ENVIRONMENT] = { "environ", O_RDONLY },
	[FILE_MAPS] = { "maps", O_RDONLY },
	/* O_PATH does not access the file system, which a server of the process's user may provide. */
	[FILE_PROGRAM] = { "exe", O_PATH },
	[FILE_ROOT] = { "root", O_PATH | O_DIRECTORY },
	[FILE_DIRECTORY] = { "cwd", O_PATH | O_DIRECTORY },
};

struct examination {
	struct doctor_subject *subject;
	struct target_user user;
	int fds[FILES];
	bool has_other_root; /* the process has another root directory or mount namespace */
	struct buf answer;
};

/* ---- the child ---- */

/* The answer is a row of records: a letter, then NUL-terminated strings. */
enum { RECORD_STOP = 's', RECORD_NOTE = 'n', RECORD_FAILED = 'f', RECORD_DONE = 'd' };

static int answer_fd = -1;

static void send_string(const char *text)
{
	if (fd_write(answer_fd, text, strlen(text) + 1, -1))
		_exit(1);
}

static void send_letter(char letter)
{
	if (fd_write(answer_fd, &letter, 1, -1))
		_exit(1);
}

static void send_finding(struct doctor_subject *subject, enum severity severity, const char *name,
			 const char *line, const char *remedy)
{
	(void)subject;
	send_letter(severity == SEVERITY_STOP ? RECORD_STOP : RECORD_NOTE);
	send_string(name);
	send_string(line);
	send_string(remedy);
}

__attribute__((noreturn)) static void child_fail(const char *what, int err)
{
	char line[256];

	snprintf(line, sizeof(line), "%s: %s", what, strerror(-err));
	send_letter(RECORD_FAILED);
	send_string(line);
	_exit(1);
}

static int compare_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void close_descriptors(int from, int to)
{
	if (from > to || !syscall(SYS_close_range, from, to, 0))
		return;
	for (int fd = from; fd <= to && fd < 65536; fd++) /* before Linux 5.9 */
		close(fd);
}

/* Close all descriptors but FDS; standard input, output and error become /dev/null. */
static void child_close_descriptors(const int fds[FILES])
{
	int sorted[FILES], null = open("/dev/null", O_RDWR | O_CLOEXEC), from = STDERR_FILENO + 1;

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	memcpy(sorted, fds, sizeof(sorted));
	qsort(sorted, FILES, sizeof(*sorted), compare_number);
	for (int i = 0; i < FILES; i++) {
		close_descriptors(from, sorted[i] - 1);
		from = sorted[i] + 1;
	}
	close_descriptors(from, INT_MAX);
}

/* Clear the caller's environment: it may contain secrets, and must not affect the checks. */
static void child_clear_environment(void)
{
	for (char **p = environ; p && *p; p++)
		memset(*p, 0, strlen(*p));
	clearenv();
}

static void child_limit_resources(void)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)limits[i].resource, &limit))
			continue;
		if (limit.rlim_max > limits[i].limit)
			limit.rlim_max = limits[i].limit;
		if (limit.rlim_cur > limit.rlim_max)
			limit.rlim_cur = limit.rlim_max;
		setrlimit((__rlimit_resource_t)limits[i].resource, &limit);
	}
}

static void child_become_user(const struct examination *e, pid_t parent)
{
	int err;

	setsid();
	child_close_descriptors(e->fds);
	child_clear_environment();
	child_limit_resources();
	if (e->has_other_root && (fchdir(e->fds[FILE_ROOT]) || chroot(".")))
		child_fail("cannot enter its root directory", -errno);
	if (fchdir(e->fds[FILE_DIRECTORY]))
		child_fail("cannot enter its working directory", -errno);
	err = target_user_become(&e->user);
	if (err)
		child_fail("cannot become its user", err);
	/* A change of credentials clears this setting, so it comes last. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
}

/* Split the environment TEXT. Returns an array followed by its strings, in one allocation. */
static char **split_environment(const struct buf *text)
{
	size_t count = 1, length = text->length;
	char **entries, *copy;

	for (size_t i = 0; i < length; i++)
		count += !text->data[i];
	entries = malloc((count + 1) * sizeof(*entries) + length + 1);
	if (!entries)
		return NULL;
	copy = (char *)(entries + count + 1);
	if (length)
		memcpy(copy, text->data, length);
	copy[length] = '\0';
	count = 0;
	for (size_t i = 0; i < length; i += strlen(copy + i) + 1)
		entries[count++] = copy + i;
	entries[count] = NULL;
	return entries;
}

static char **read_environment(int fd)
{
	struct buf text = BUF_INIT(ENVIRONMENT_MAX);
	char block[4096], **entries;
	ssize_t n;

	while ((n = read(fd, block, sizeof(block))) > 0 && !buf_append(&text, block, (size_t)n))
		;
	if (n < 0)
		child_fail("cannot read its environment", -errno);
	entries = split_environment(&text);
	if (!entries)
		child_fail("cannot read its environment", -ENOMEM);
	buf_free(&text);
	return entries;
}

__attribute__((noreturn)) static void child_examine(const struct examination *e, pid_t parent)
{
	struct doctor_subject *p = e->subject;
	char path[PATH_MAX];

	answer_fd = e->fds[FILE_ANSWER];
	signal(SIGPIPE, SIG_DFL);
	child_become_user(e, parent);
	p->environment = read_environment(e->fds[FILE_ENVIRONMENT]);
	p->has_preload = maps_contain(fdopen(e->fds[FILE_MAPS], "r"), "libasprof_preload.so");
	/* The descriptor is valid even if the file was replaced. Another root directory may have no /proc. */
	if (e->has_other_root)
		snprintf(path, sizeof(path), "%s", p->program);
	else
		snprintf(path, sizeof(path), "/proc/self/fd/%d", e->fds[FILE_PROGRAM]);
	preloadable_check(&p->file, path);
	doctor_run_checks(p, DOCTOR_ALL, send_finding);
	send_letter(RECORD_DONE);
	_exit(0);
}

/* ---- the caller ---- */

/* Returns the answer's next string, or NULL if it is not terminated. */
static char *next_string(char **at, const char *end)
{
	char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));

	*at = nul ? nul + 1 : *at;
	return nul ? text : NULL;
}

int doctor_parse_answer(struct doctor_subject *subject, char *data, size_t length)
{
	char *at = data, *end = data + length;

	while (at < end) {
		enum severity severity = SEVERITY_NOTE;
		char *name, *line, *remedy;

		switch (*at++) {
		case RECORD_DONE:
			return at == end ? 0 : -EPROTO;
		case RECORD_FAILED:
			line = next_string(&at, end);
			if (line)
				message_print("doctor: process %d: %s", subject->pid, line);
			return line ? -EPERM : -EPROTO;
		case RECORD_STOP:
			severity = SEVERITY_STOP;
			break;
		case RECORD_NOTE:
			break;
		default:
			return -EPROTO;
		}
		name = next_string(&at, end);
		line = name ? next_string(&at, end) : NULL;
		remedy = line ? next_string(&at, end) : NULL;
		if (!remedy)
			return -EPROTO;
		text_clean_string(name);
		text_clean_string(remedy);
		doctor_add_finding(subject, severity, name, remedy, "%s", line);
	}
	return -EPROTO;
}

/* Read until the child closes the pipe. */
static int answer_receive(int fd, struct buf *answer)
{
	uint64_t deadline_ns = clock_monotonic_ns() + ANSWER_NS;
	char block[4096];
	ssize_t n;
	int err = 0;

	while (!err && !(err = live_endpoint_poll(fd, POLLIN, deadline_ns))) {
		n = read(fd, block, sizeof(block));
		if (!n)
			return 0;
		if (n > 0)
			err = buf_append(answer, block, (size_t)n);
		else if (errno != EINTR)
			err = -errno;
	}
	return err;
}

/* Kill the child. If it is blocked in the kernel by a file system, it is not waited for. */
static void end_child(pid_t child)
{
	static const struct timespec a_while = { .tv_nsec = 5000000 };

	kill(child, SIGKILL);
	for (int i = 0; i < 200 && !waitpid(child, NULL, WNOHANG); i++)
		nanosleep(&a_while, NULL);
}

static int examination_run_child(struct examination *e)
{
	pid_t parent = getpid(), child;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	e->fds[FILE_ANSWER] = ends[1];
	fflush(NULL);
	child = fork();
	if (!child)
		child_examine(e, parent);
	err = child < 0 ? -errno : 0;
	close(ends[1]);
	e->fds[FILE_ANSWER] = -1;
	if (!err) {
		err = answer_receive(ends[0], &e->answer);
		end_child(child);
	}
	close(ends[0]);
	return err;
}

/* Get the program's path as the process sees it. /proc returns it as this process sees it. */
static int target_find_program(char program[PATH_MAX], const struct target *target)
{
	char root[PATH_MAX];
	ssize_t n = readlinkat(target->dir, "exe", program, PATH_MAX - 1),
		length = n < 0 ? n : readlinkat(target->dir, "root", root, sizeof(root));

	if (length < 0)
		return -errno;
	program[n] = '\0';
	if (length > 1 && n > length && !memcmp(program, root, (size_t)length) &&
	    program[length] == '/')
		memmove(program, program + length, (size_t)(n - length) + 1);
	return 0;
}

static int examination_open_files(struct examination *e, const struct target *target)
{
	int err = target_find_program(e->subject->program, target);

	if (err)
		return err;
	for (int i = 0; i < FILE_ANSWER; i++) {
		e->fds[i] = target_open_file(target, files[i].name, files[i].flags);
		if (e->fds[i] < 0)
			return e->fds[i];
	}
	return 0;
}

int doctor_own_seccomp_mode(void)
{
	struct target target;
	struct target_user user = { 0 };

	if (!target_open(&target, getpid())) {
		target_user_read(&user, &target);
		target_close(&target);
	}
	target_user_free(&user);
	return user.seccomp;
}

/* Get the credentials of the process and open its files. It must not change user or program meanwhile. */
static int examination_prepare(struct examination *e, const struct target *target)
{
	struct target_user after = { 0 };
	bool shares_user = target_shares_link(target, "ns/user");
	int err = target_user_read(&e->user, target);

	if (!err)
		err = examination_open_files(e, target);
	if (!err)
		err = target_user_read(&after, target);
	if (!err && !target_user_equals(&e->user, &after))
		err = -EAGAIN;
	target_user_free(&after);
	e->has_other_root =
		!target_shares_link(target, "root") || !target_shares_link(target, "ns/mnt");
	e->subject->seccomp = e->user.seccomp;
	/* If the process may lack access that the caller has, the caller must not use the network for it. */
	e->subject->is_isolated = e->has_other_root || !shares_user ||
				  !target_shares_link(target, "ns/net") ||
				  (e->user.seccomp && !doctor_own_seccomp_mode());
	if (e->user.uid || !shares_user)
		e->user.capabilities = 0;
	return err;
}

static const char *describe_error(int err)
{
	switch (err) {
	case -ESRCH:
	case -ENOENT:
		return "no such process";
	case -ENOTUNIQ:
		return "it has several users or groups, or has the rights of its file "
		       "(set-user-ID), so its environment is not its user's";
	case -EAGAIN:
		return "its user or program is changing";
	case -EPROTO:
		return "the check ended early";
	case -ETIMEDOUT:
		return "the check timed out";
	default:
		return strerror(-err);
	}
}

int doctor_check_process(struct doctor_subject *subject, doctor_report *report)
{
	struct examination e = { .subject = subject, .answer = BUF_INIT(ANSWER_MAX) };
	struct target target;
	int err = target_open(&target, subject->pid);

	for (int i = 0; i < FILES; i++)
		e.fds[i] = -1;
	subject->report = report;
	if (!err) {
		err = examination_prepare(&e, &target);
		if (!err)
			err = examination_run_child(&e);
		target_close(&target);
	}
	if (!err)
		err = doctor_parse_answer(subject, (char *)e.answer.data, e.answer.length);
	if (err && err != -EPERM)
		message_print("doctor: cannot check process %d: %s", subject->pid,
			      describe_error(err));
	for (int i = 0; i < FILES; i++)
		if (e.fds[i] >= 0)
			close(e.fds[i]);
	target_user_free(&e.user);
	buf_free(&e.answer);
	return err;
}
