/* heap, profile, threads: capture a running process's profile and pass it to a command that reads recordings. */
#include "decoder/commands/args.h"
#include "decoder/commands/commands.h"
#include "decoder/live/live_request.h"
#include "decoder/output/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"

static const struct command_option profile_switches[] = {
	{ "-t", "TIME", "how long (10s)", 0, 0 },
	{ "--wall", NULL, "the wall clock, not CPU time", 0, 0 },
	{ 0 },
};

const struct command_option *const profile_options[] = { profile_switches, NULL };

static const struct {
	const char *name;
	int (*function)(int argc, char **argv);
} readers[] = {
	{ "top", cmd_top },
	{ "collapsed", cmd_collapsed },
	{ "flamegraph", cmd_flamegraph },
	{ "pprof", cmd_pprof },
};

#define READERS (sizeof(readers) / sizeof(readers[0]))

struct capture {
	pid_t pid;
	const char *path;   /* path of the request */
	uint64_t wait_ns;   /* expected time until the answer */
	const char *metric; /* switches for the reader; NULL: none */
	const char *option;
	bool limits_period; /* read only the time of this capture */
	char **reader_argv; /* name and arguments of the reader; empty: top */
	int reader_argc;
};

/* Write RECORDING to a file, as readers take paths. Returns a descriptor, and the file's path in PATH. */
static int recording_write_file(const struct buf *recording, char *path, size_t size)
{
	const char *folder = getenv("TMPDIR");
	int fd, err;

	if ((size_t)snprintf(path, size, "%s/asprof-agent-live-XXXXXX.jfr",
			     folder && *folder ? folder : "/tmp") >= size)
		return -ENAMETOOLONG;
	fd = mkstemps(path, (int)strlen(".jfr"));
	if (fd < 0)
		return -errno;
	err = fd_write(fd, recording->data, recording->length, -1);
	if (!err)
		return fd;
	close(fd);
	unlink(path);
	return err;
}

static int capture_run_reader(const struct capture *t, int (*reader)(int argc, char **argv),
			      char *name, char *path, const uint64_t period_ms[2])
{
	char **argv = calloc((size_t)t->reader_argc + 12, sizeof(*argv)), from[32], to[32];
	int argc = 0, status;

	if (!argv) {
		message_print("out of memory");
		return COMMAND_FAILED;
	}
	argv[argc++] = name;
	if (t->metric)
		argv[argc++] = (char *)(uintptr_t)t->metric;
	if (t->option)
		argv[argc++] = (char *)(uintptr_t)t->option;
	if (t->limits_period) {
		snprintf(from, sizeof(from), "%" PRIu64, period_ms[0]);
		snprintf(to, sizeof(to), "%" PRIu64, period_ms[1]);
		argv[argc++] = (char *)(uintptr_t) "--from";
		argv[argc++] = from;
		argv[argc++] = (char *)(uintptr_t) "--to";
		argv[argc++] = to;
	}
	for (int i = 1; i < t->reader_argc; i++)
		argv[argc++] = t->reader_argv[i];
	argv[argc++] = path;
	status = reader(argc, argv);
	free(argv);
	return status;
}

static int capture_read(const struct capture *t)
{
	struct live_request request = {
		.pid = t->pid, .method = "GET", .path = t->path, .body = "", .wait_ns = t->wait_ns
	};
	struct buf recording = BUF_INIT(LIVE_ANSWER_MAX);
	char *name = t->reader_argc ? t->reader_argv[0] : (char *)(uintptr_t) "top";
	int (*reader)(int argc, char **argv) = NULL;
	uint64_t period_ms[2];
	char path[4096];
	int fd, status = COMMAND_FAILED;

	for (size_t i = 0; i < READERS; i++)
		if (!strcmp(readers[i].name, name))
			reader = readers[i].function;
	if (!reader) {
		message_print("'%s': takes top, collapsed, flamegraph or pprof", name);
		return COMMAND_USAGE;
	}
	period_ms[0] = clock_realtime_ns() / 1000000;
	if (live_request_send(&request, &recording))
		goto out;
	period_ms[1] = clock_realtime_ns() / 1000000 + 1;
	fd = recording_write_file(&recording, path, sizeof(path));
	if (fd < 0) {
		message_print("cannot write the recording: %s", strerror(-fd));
		goto out;
	}
	close(fd);
	status = capture_run_reader(t, reader, name, path, period_ms);
	unlink(path);
out:
	buf_free(&recording);
	return status;
}

int cmd_heap(int argc, char **argv)
{
	struct capture t = { .path = "/debug/pprof/heap?form=jfr",
			     .metric = "--live",
			     .option = "--retained",
			     .reader_argv = argv + 2,
			     .reader_argc = argc > 2 ? argc - 2 : 0 };

	return command_parse_pid(argv[1], &t.pid) ? capture_read(&t) : COMMAND_USAGE;
}

int cmd_profile(int argc, char **argv)
{
	struct capture t = { .metric = "--cpu", .limits_period = true };
	uint64_t ns = 10000000000u;
	char path[128];
	int i = 2;

	if (!command_parse_pid(argv[1], &t.pid))
		return COMMAND_USAGE;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--wall")) {
			t.metric = "--wall";
		} else if (!strcmp(argv[i], "-t") && i + 1 < argc &&
			   !args_duration(argv[i + 1], &ns)) {
			i++;
		} else {
			message_print("profile: '%s' is neither -t TIME nor --wall", argv[i]);
			return COMMAND_USAGE;
		}
	}
	snprintf(path, sizeof(path), "/debug/pprof/%s?form=jfr&seconds=%.3f",
		 t.metric[2] == 'w' ? "wall" : "profile", (double)ns / 1e9);
	t.path = path;
	t.wait_ns = ns;
	t.reader_argv = argv + i;
	t.reader_argc = argc - i;
	return capture_read(&t);
}

int cmd_threads(int argc, char **argv)
{
	struct capture t = { .path = "/debug/pprof/threads?form=jfr",
			     .metric = "--wall",
			     .option = "--threads",
			     .limits_period = true,
			     .reader_argv = argv + 2,
			     .reader_argc = argc > 2 ? argc - 2 : 0 };
	struct live_request request = { .method = "GET",
					.path = "/debug/pprof/threads?debug=1",
					.body = "" };
	struct buf answer = BUF_INIT(LIVE_ANSWER_MAX);
	int err;

	if (!command_parse_pid(argv[1], &t.pid))
		return COMMAND_USAGE;
	if (t.reader_argc)
		return capture_read(&t);
	request.pid = t.pid;
	err = live_request_send(&request, &answer);
	if (!err)
		print_clean_lines(answer.data, answer.length);
	buf_free(&answer);
	return err ? COMMAND_FAILED : COMMAND_OK;
}
