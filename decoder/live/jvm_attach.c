/* Profile of a running JVM by async-profiler. The protocol is HotSpot's: attachListener_posix.cpp of OpenJDK. */
#include "decoder/live/jvm_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/units.h"
#include "decoder/live/live_endpoint.h"
#include "decoder/live/target.h"

/* How long a JVM may need to listen, and to answer. */
#define LISTEN_NS SECONDS(10)
#define ANSWER_NS SECONDS(60)

/* If this command is killed, async-profiler ends so much later. */
#define EXTRA_SECONDS 30

/* HotSpot's directory for its socket. */
#define FOLDER "/tmp"

#define WORDS_MAX     (4u << 20)
#define RECORDING_MAX ((size_t)256 << 20)

/* What the child writes, before the recording. */
struct answer {
	int err;
	char problem[JVM_PROBLEM_MAX];
};

struct session {
	const struct jvm_profile *profile;
	struct target target;
	struct target_user user;
	int folder;     /* FOLDER of the JVM */
	int own_pid;    /* of the JVM, as it knows it */
	char place[32]; /* directory in FOLDER for its files */
	int place_dir;  /* -1: none */
	struct answer answer;
};

static int fail(struct session *s, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct session *s, int err, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(s->answer.problem, sizeof(s->answer.problem), format, arguments);
	va_end(arguments);
	return err;
}

/* ---- Checks ---- */

/* The file is one of the JVM's: its user may see another file at the path. */
static bool sees_file(const struct target *target, const char *path)
{
	const char *name = strrchr(path, '/');
	struct stat own, seen;
	char folder[4096];
	bool is_same;
	int dir;

	if (*path != '/' || (size_t)(name - path) >= sizeof(folder) || stat(path, &own))
		return false;
	snprintf(folder, sizeof(folder), "%.*s", (int)(name + 1 - path), path);
	dir = target_open_directory(target, folder);
	if (dir < 0)
		return false;
	is_same = !fstatat(dir, name + 1, &seen, 0) && seen.st_dev == own.st_dev &&
		  seen.st_ino == own.st_ino;
	close(dir);
	return is_same;
}

/* Copy the rest of the line that begins with KEY in the process's status file. */
static bool read_status(const struct target *target, const char *key, char *value, size_t size)
{
	struct buf text = BUF_INIT(TARGET_STATUS_MAX);
	const char *at =
		target_read_file(&text, target, "status") ? "" : target_status_value(&text, key);
	bool is_there = *at;

	snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
	buf_free(&text);
	return is_there;
}

/* Without a handler of SIGQUIT, the request to listen would end the process. */
static bool handles_quit(const struct target *target)
{
	char caught[64];

	return read_status(target, "\nSigCgt:", caught, sizeof(caught)) &&
	       strtoull(caught, NULL, 16) & UINT64_C(1) << (SIGQUIT - 1);
}

/* OpenJ9 has a library of the same name, and another mechanism. */
static bool is_hotspot(const struct target *target)
{
	return maps_contain(target_open_text(target, "maps"), "/libjvm.so") &&
	       !maps_contain(target_open_text(target, "maps"), "/libj9vm");
}

/* Whether the words in the file NAME have TEXT. */
static bool words_have(const struct target *target, const char *name, const char *text)
{
	struct buf words = BUF_INIT(WORDS_MAX);
	bool have;

	target_read_file(&words, target, name); /* of a larger file, its start */
	have = words.length && memmem(words.data, words.length, text, strlen(text));
	buf_free(&words);
	return have;
}

/* Then it would print its threads instead. */
static bool is_disabled(const struct target *target)
{
	static const char option[] = "+DisableAttachMechanism";

	return words_have(target, "cmdline", option) || words_have(target, "environ", option);
}

bool jvm_is_hotspot(pid_t pid)
{
	struct target target;
	bool is;

	if (target_open(&target, pid))
		return false;
	is = is_hotspot(&target);
	target_close(&target);
	return is;
}

bool jvm_can_load(pid_t pid, const char *library)
{
	struct target target;
	bool can;

	if (target_open(&target, pid))
		return false;
	can = is_hotspot(&target) && handles_quit(&target) && !is_disabled(&target) &&
	      sees_file(&target, library);
	target_close(&target);
	return can;
}

/* ---- The JVM's socket ---- */

/* Ask the JVM to listen: it looks for a file of its user's when it gets SIGQUIT. */
static int request_listening(struct session *s)
{
	int process = (int)syscall(SYS_pidfd_open, s->target.pid, 0), file, err;
	struct stat st;
	char name[64];

	snprintf(name, sizeof(name), ".attach_pid%d", s->own_pid);
	file = openat(s->folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
	err = file < 0 ? -errno : 0;
	/* An earlier tool may have left it. If it is another user's, the JVM would print its threads. */
	if (err == -EEXIST && !fstatat(s->folder, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    st.st_uid == s->user.uid)
		err = 0;
	if (process < 0)
		err = -ENOSYS;
	if (!err && !handles_quit(&s->target)) /* also: it is still that process */
		err = -EOPNOTSUPP;
	if (!err && syscall(SYS_pidfd_send_signal, process, SIGQUIT, NULL, 0))
		err = -errno;
	if (file >= 0)
		close(file);
	if (process >= 0)
		close(process);
	return err;
}

static int jvm_connect(struct session *s)
{
	static const struct timespec moment = { .tv_nsec = 20000000 };
	uint64_t deadline = clock_monotonic_ns() + LISTEN_NS;
	bool is_asked = false;
	char name[64];
	int fd, err = 0;

	snprintf(name, sizeof(name), ".java_pid%d", s->own_pid);
	while ((fd = live_endpoint_connect_at(&s->target, s->folder, name, deadline)) < 0 && !err &&
	       clock_monotonic_ns() < deadline) {
		if (!is_asked)
			err = request_listening(s);
		is_asked = true;
		nanosleep(&moment, NULL);
	}
	if (is_asked) {
		snprintf(name, sizeof(name), ".attach_pid%d", s->own_pid);
		unlinkat(s->folder, name, 0);
	}
	return fd < 0 && err ? err : fd;
}

/* Send "load LIBRARY true OPTIONS". */
static int send_load(const struct session *s, int fd, const char *options)
{
	struct buf request = BUF_INIT(16384);
	const char *const words[] = { "1", "load", s->profile->library, "true", options };
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(words) / sizeof(*words); i++)
		err = buf_append(&request, words[i], strlen(words[i]) + 1);
	if (!err)
		err = fd_write(fd, request.data, request.length, -1);
	buf_free(&request);
	return err;
}

static int receive_answer(int fd, struct buf *answer)
{
	uint64_t deadline = clock_monotonic_ns() + ANSWER_NS;
	char block[512];
	ssize_t n = 1;
	int err = 0;

	while (n && !err && !(err = live_endpoint_poll(fd, POLLIN, deadline))) {
		n = read(fd, block, sizeof(block));
		if (n > 0)
			err = buf_append(answer, block, (size_t)n);
		else if (n < 0 && errno != EINTR && errno != EAGAIN)
			err = -errno;
	}
	return err;
}

/* A line with the result of the JVM, and one with that of the library: a number, from JDK 9 on after a text. */
static bool answer_is_good(struct buf *answer)
{
	static const char text[] = "return code: ";
	const char *at = buf_string(answer), *line = at ? strchr(at, '\n') : NULL;

	if (!line || strtol(at, NULL, 10))
		return false;
	line++;
	if (!strncmp(line, text, strlen(text)))
		line += strlen(text);
	return *line == '0' && (line[1] == '\n' || !line[1]);
}

/* The first line of a text that the process may have written. */
static int fail_with_line(struct session *s, struct buf *text)
{
	char *at = buf_string(text) ? (char *)text->data : (char *)(uintptr_t) "";

	while (*at == '\n' || *at == '\r')
		at++;
	at[strcspn(at, "\r\n")] = '\0';
	for (char *c = at; *c; c++)
		if (*c < ' ' || *c == 127)
			*c = '?';
	return fail(s, -EPROTO, "the JVM does not accept async-profiler's command: %.300s", at);
}

/* Read the file NAME, which the JVM has written. */
static int read_file(const struct session *s, const char *name, struct buf *text)
{
	int fd = openat(s->place_dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return target_read_fd(text, fd < 0 ? -errno : fd);
}

/* Let the library do COMMAND. */
static int jvm_command(struct session *s, const char *command)
{
	struct buf answer = BUF_INIT(65536), log = BUF_INIT(65536);
	int fd = jvm_connect(s), err = fd < 0 ? fd : send_load(s, fd, command);

	if (!err)
		err = receive_answer(fd, &answer);
	if (err)
		fail(s, err, "cannot connect to the JVM: %s", strerror(-err));
	else if (!answer_is_good(&answer))
		err = fail_with_line(s, read_file(s, "log", &log) || !log.length ? &answer : &log);
	if (fd >= 0)
		close(fd);
	buf_free(&log);
	buf_free(&answer);
	return err;
}

/* ---- The child ---- */

static int session_open(struct session *s)
{
	char pids[256];
	uint64_t number = 0;
	int err = target_open(&s->target, s->profile->pid);

	s->folder = s->place_dir = -1;
	if (!err)
		err = target_user_read(&s->user, &s->target);
	if (!err && !read_status(&s->target, "\nNSpid:", pids, sizeof(pids)))
		err = -ESRCH;
	if (!err)
		s->own_pid = atoi(strrchr(pids, '\t') ? strrchr(pids, '\t') : pids);
	if (!err)
		s->folder = target_open_directory(&s->target, FOLDER);
	if (!err && s->folder < 0)
		err = s->folder;
	if (!err)
		err = target_user_become(&s->user);
	if (!err && getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
		number = clock_realtime_ns();
	snprintf(s->place, sizeof(s->place), "asprof-agent-%08x", (unsigned)number);
	if (!err && mkdirat(s->folder, s->place, 0700))
		err = -errno;
	if (!err)
		s->place_dir = openat(s->folder, s->place,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!err && s->place_dir < 0)
		err = -errno;
	return err ? fail(s, err, "cannot use " FOLDER " of the JVM: %s", strerror(-err)) : 0;
}

static void session_close(struct session *s)
{
	if (s->place_dir < 0)
		return;
	unlinkat(s->place_dir, "recording.jfr", 0);
	unlinkat(s->place_dir, "log", 0);
	unlinkat(s->folder, s->place, AT_REMOVEDIR);
}

/* Wait until the time is over, or until the reader of OUT has closed it. */
static void wait_for_samples(const struct session *s, int out)
{
	uint64_t end = clock_monotonic_ns() + s->profile->ns, now;
	struct pollfd reader = { .fd = out };

	while ((now = clock_monotonic_ns()) < end) {
		uint64_t ms = (end - now) / 1000000 + 1;

		if (poll(&reader, 1, ms < INT32_MAX ? (int)ms : INT32_MAX) > 0)
			return;
	}
}

static int session_run(struct session *s, int out, struct buf *recording)
{
	const struct jvm_profile *profile = s->profile;
	char command[1024];
	int err = session_open(s);

	if (err)
		return err;
	snprintf(command, sizeof(command),
		 "start,%s,jfr,timeout=%llu,file=" FOLDER "/%s/recording.jfr,log=" FOLDER "/%s/log",
		 profile->events, (unsigned long long)(profile->ns / 1000000000 + EXTRA_SECONDS),
		 s->place, s->place);
	err = jvm_command(s, command);
	if (err)
		return err;
	wait_for_samples(s, out);
	snprintf(command, sizeof(command), "stop,file=" FOLDER "/%s/recording.jfr", s->place);
	err = jvm_command(s, command);
	if (!err)
		err = read_file(s, "recording.jfr", recording);
	return err && !*s->answer.problem
		       ? fail(s, err, "cannot read async-profiler's recording: %s", strerror(-err))
		       : err;
}

static _Noreturn void child_run(const struct jvm_profile *profile, int out)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE };
	struct buf recording = BUF_INIT(RECORDING_MAX);
	struct session s = { .profile = profile };
	int err;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	s.answer.err = session_run(&s, out, &recording);
	session_close(&s);
	err = fd_write(out, &s.answer, sizeof(s.answer), -1);
	if (!err && !s.answer.err)
		err = fd_write(out, recording.data, recording.length, -1);
	_exit(err != 0);
}

/* Read what the child writes. */
static int receive_recording(int in, struct answer *answer, struct buf *recording)
{
	struct buf all = BUF_INIT(sizeof(*answer) + RECORDING_MAX);
	int err = buf_append_file(&all, in);

	if (!err && all.length >= sizeof(*answer)) {
		memcpy(answer, all.data, sizeof(*answer));
		err = answer->err ? answer->err
				  : buf_append(recording, all.data + sizeof(*answer),
					       all.length - sizeof(*answer));
	} else if (!err) {
		err = answer->err;
	}
	buf_free(&all);
	return err;
}

int jvm_profile_make(const struct jvm_profile *profile, struct buf *recording,
		     char problem[JVM_PROBLEM_MAX])
{
	struct answer answer = { .err = -ECHILD, .problem = "a process for it has failed" };
	pid_t child;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC)) {
		err = -errno;
		snprintf(problem, JVM_PROBLEM_MAX, "cannot create a pipe: %s", strerror(-err));
		return err;
	}
	fflush(NULL);
	child = fork();
	if (!child) {
		close(ends[0]);
		child_run(profile, ends[1]);
	}
	close(ends[1]);
	err = receive_recording(ends[0], &answer, recording);
	close(ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	answer.problem[JVM_PROBLEM_MAX - 1] = '\0';
	memcpy(problem, answer.problem, JVM_PROBLEM_MAX);
	return err;
}
