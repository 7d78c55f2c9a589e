/* Checks of a running process, by its files in /proc. The kernel's own check of ptrace(2) is asked by opening its memory. */
#include "decoder/live/attachable.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/buf.h"
#include "decoder/live/live_endpoint.h"
#include "decoder/live/target.h"

/* How often, in intervals of 10 ms, to look whether a thread can be stopped, or whether another command has ended. */
#define WAIT_LOOKS 100

struct check {
	struct target target;
	struct buf status;
	bool is_forced;
	long own_filters; /* seccomp filters of this process; at most 0: none, or not known */
	char *problem;
};

static int refuse(struct check *check, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(struct check *check, int err, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(check->problem, ATTACHABLE_PROBLEM_MAX, format, arguments);
	va_end(arguments);
	return err;
}

/* The number in the line KEY, like "\nUid:", of the status file TEXT; -1 if it is missing. */
static long status_number(struct buf *text, const char *key)
{
	const char *value = target_status_value(text, key);

	return *value ? strtol(value, NULL, 10) : -1;
}

/* ---- Checks, in this order ---- */

static void wait_a_moment(void)
{
	static const struct timespec moment = { .tv_nsec = 10000000 };

	nanosleep(&moment, NULL);
}

/* Call VISIT with the status file of each thread until the result is not 0, and return that. The main thread is the first. */
static int visit_threads(struct check *check,
			 int (*visit)(struct check *check, pid_t tid, struct buf *status))
{
	DIR *list = target_open_proc_directory(&check->target, "task");
	int err = 0;
	struct buf text = BUF_INIT(TARGET_STATUS_MAX);
	struct dirent *entry;
	char name[300];

	while (list && !err && (entry = readdir(list))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(name, sizeof(name), "task/%s/status", entry->d_name);
		buf_reset(&text);
		/* (A thread may have ended meanwhile.) */
		if (!target_read_file(&text, &check->target, name))
			err = visit(check, atoi(entry->d_name), &text);
	}
	if (list)
		closedir(list);
	buf_free(&text);
	return list ? err : -ESRCH;
}

static int look_whether_it_stops(struct check *check, pid_t tid, struct buf *status)
{
	(void)check;
	(void)tid;
	return target_status_state(status) != 'D';
}

/* True if each thread waits in a way that no signal ends. */
static bool all_wait_for_kernel(struct check *check)
{
	return !visit_threads(check, look_whether_it_stops);
}

/* Most of these waits are short. */
static int check_wait(struct check *check)
{
	int looks = 0;

	while (looks < WAIT_LOOKS && all_wait_for_kernel(check)) {
		wait_a_moment();
		looks++;
	}
	return looks == WAIT_LOOKS
		       ? refuse(check, -EBUSY,
				"waits for a disk, or for a child of vfork(2): no signal "
				"stops it")
		       : 0;
}

static int check_state(struct check *check)
{
	switch (target_status_state(&check->status)) {
	case 'Z':
	case 'X':
		return refuse(check, -ESRCH,
			      status_number(&check->status, "\nThreads:") > 1
				      ? "has ended its first thread, so its memory cannot be "
					"inspected"
				      : "has ended");
	case 'T':
		return refuse(check, -EBUSY,
			      "is stopped by a signal; continue it first: kill -CONT %d",
			      check->target.pid);
	default:
		return 0;
	}
}

/* The preload, or an earlier `attach`. */
static int check_agent(struct check *check)
{
	return live_endpoint_has_agent(check->target.pid)
		       ? refuse(check, -EALREADY,
				"is profiled already; asprof-agent profile %d, or asprof-agent "
				"status %d",
				check->target.pid, check->target.pid)
		       : 0;
}

/* Its agent has not begun yet, or has ended. */
static int check_preload(struct check *check)
{
	return maps_contain(target_open_text(&check->target, "maps"), "/libasprof_preload")
		       ? refuse(check, -EALREADY,
				"has the preload, whose agent does not run (yet); asprof-agent "
				"doctor %d "
				"says why",
				check->target.pid)
		       : 0;
}

/* True if process PID is a command of this name. */
static bool is_command(long pid)
{
	struct buf own = BUF_INIT(64), other = BUF_INIT(64);
	char path[64];
	bool is;

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	is = !target_read_fd(&own, open("/proc/self/comm", O_RDONLY | O_CLOEXEC)) &&
	     !target_read_fd(&other, open(path, O_RDONLY | O_CLOEXEC)) &&
	     !strcmp(buf_string(&own), buf_string(&other));
	buf_free(&own);
	buf_free(&other);
	return is;
}

/* (Another `attach` or `detach`, or `run`, traces it for a moment.) */
static int check_tracer(struct check *check)
{
	long tracer = status_number(&check->status, "\nTracerPid:");

	for (int looks = 0; looks < WAIT_LOOKS && tracer > 0 && is_command(tracer); looks++) {
		wait_a_moment();
		buf_reset(&check->status);
		if (target_read_file(&check->status, &check->target, "status"))
			return refuse(check, -ESRCH, "has ended");
		tracer = status_number(&check->status, "\nTracerPid:");
	}
	return tracer > 0 ? refuse(check, -EBUSY,
				   "is traced by process %ld (strace or a debugger); a process has "
				   "one tracer",
				   tracer)
			  : 0;
}

static long yama_scope(void)
{
	struct buf text = BUF_INIT(64);
	long scope = -1;

	if (!target_read_fd(&text,
			    open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC)))
		scope = strtol(buf_string(&text), NULL, 10);
	buf_free(&text);
	return scope;
}

static int refuse_access(struct check *check)
{
	long user = status_number(&check->status, "\nUid:"), scope = yama_scope();
	struct passwd *entry = getpwuid((uid_t)user);

	if (scope == 3)
		return refuse(
			check, -EPERM,
			"cannot be traced: /proc/sys/kernel/yama/ptrace_scope is 3, until this "
			"machine starts again");
	if (geteuid() && user != (long)geteuid())
		return refuse(check, -EPERM, "belongs to user %s: run this as root",
			      entry ? entry->pw_name : "of another name space");
	if (geteuid() && scope > 0)
		return refuse(check, -EPERM,
			      "cannot be traced: /proc/sys/kernel/yama/ptrace_scope is %ld: run "
			      "this as root, or set it to 0",
			      scope);
	return refuse(check, -EPERM,
		      geteuid() ? "cannot be traced: it has changed its user, or asked for that "
				  "(PR_SET_DUMPABLE); run this as root"
				: "cannot be traced: this needs CAP_SYS_PTRACE in its user "
				  "namespace");
}

static int check_access(struct check *check)
{
	int fd = target_open_file(&check->target, "mem", O_RDWR);

	/* (Linux 6.8 says which these are; before, check_executable() notices them.) */
	if (status_number(&check->status, "\nKthread:") == 1)
		return refuse(check, -EINVAL, "is a thread of the kernel");
	if (fd == -ENOENT || fd == -ESRCH)
		return refuse(check, -ESRCH, "has ended");
	if (fd < 0)
		return refuse_access(check);
	close(fd);
	return 0;
}

static int check_executable(struct check *check)
{
	unsigned char ident[EI_NIDENT] = { 0 };
	int fd = target_open_file(&check->target, "exe", O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, ident, sizeof(ident));

	if (fd >= 0)
		close(fd);
	if (fd == -ENOENT)
		return refuse(check, -EINVAL, "is a thread of the kernel");
	return n == sizeof(ident) && ident[EI_CLASS] != ELFCLASS64
		       ? refuse(check, -ENOEXEC, "is a 32-bit program")
		       : 0;
}

static long count_own_filters(void)
{
	struct buf own = BUF_INIT(TARGET_STATUS_MAX);
	long filters = 0;

	if (!target_read_fd(&own, open("/proc/self/status", O_RDONLY | O_CLOEXEC)))
		filters = status_number(&own, "\nSeccomp_filters:");
	buf_free(&own);
	return filters;
}

/* As many filters as this process has: those of the container, under which agents work. */
static bool filters_are_own(const struct check *check, struct buf *status)
{
	return check->own_filters > 0 &&
	       check->own_filters == status_number(status, "\nSeccomp_filters:");
}

/* A thread may be confined alone. Any thread may be the one that lets the agent in, and samples make calls in each. */
static int check_filters_of(struct check *check, pid_t tid, struct buf *status)
{
	const char *has = tid == check->target.pid ? "" : "has a thread that ";
	long mode = status_number(status, "\nSeccomp:");

	if (mode == 1)
		return refuse(check, -EPERM, "%spermits itself four system calls (strict seccomp)",
			      has);
	if (mode == 2 && !check->is_forced && !filters_are_own(check, status))
		return refuse(check, -EPERM,
			      "%shas a seccomp filter, which may end it at a call of the agent "
			      "(clone, mmap, timer_create, openat, socket and others); --force if "
			      "it permits these",
			      has);
	return 0;
}

static int check_filters(struct check *check)
{
	int err;

	check->own_filters = count_own_filters();
	err = visit_threads(check, check_filters_of);
	return err == -ESRCH ? refuse(check, err, "has ended") : err;
}

static int (*const checks[])(struct check *check) = {
	check_state,   check_agent,      check_tracer,  check_access,
	check_preload, check_executable, check_filters, check_wait,
};

int attachable_check(pid_t pid, bool is_forced, char problem[ATTACHABLE_PROBLEM_MAX])
{
	struct check check = { .status = BUF_INIT(TARGET_STATUS_MAX),
			       .is_forced = is_forced,
			       .problem = problem };
	int err = target_open(&check.target, pid);

	if (err)
		return refuse(&check, err,
			      err == -ESRCH ? "does not exist" : "cannot be inspected: %s",
			      strerror(-err));
	err = target_read_file(&check.status, &check.target, "status");
	if (err)
		refuse(&check, err, "has ended");
	for (size_t i = 0; !err && i < sizeof(checks) / sizeof(*checks); i++)
		err = checks[i](&check);
	buf_free(&check.status);
	target_close(&check.target);
	return err;
}
