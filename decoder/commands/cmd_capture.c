/* heap, profile, threads: capture a running process's profile and pass it to a command that reads recordings. */
#include "decoder/commands/args.h"
#include "decoder/commands/commands.h"
#include "decoder/live/jvm_attach.h"
#include "decoder/live/live_endpoint.h"
#include "decoder/live/live_request.h"
#include "decoder/output/message.h"
#include "decoder/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/options/option_value.h"
#include "profile/basics/text.h"

static const struct command_option profile_switches[] = {
	{ "-t", "TIME", "how long (10s)", 0, 0 },
	{ "--cpu", NULL, "CPU time (default); an interval may follow (10ms)", 0, 0 },
	{ "--wall", NULL, "wall-clock time; an interval may follow (10ms)", 0, 0 },
	{ "--mem", NULL, "native allocations; bytes may follow (512k)", 0, 0 },
	{ "--attach", NULL,
	  "put the profiler into the process first, if it has none, and remove it", 0, 0 },
	{ "--force", NULL, "with --attach: also if a seccomp filter of the process may end it", 0,
	  0 },
	{ "--unchanged", NULL, "sample at the process's own intervals", 0, 0 },
	{ "-o", "FILE", "write FILE: .jfr, .html, .pb.gz or .collapsed", 0, 0 },
	{ 0 },
};

const struct command_option *const profile_options[] = { profile_switches, NULL };

static const struct reader {
	const char *name;
	int (*function)(int argc, char **argv);
	bool has_metrics; /* takes switches such as --cpu */
} readers[] = {
	{ "top", cmd_top, true },
	{ "collapsed", cmd_collapsed, true },
	{ "flamegraph", cmd_flamegraph, true },
	{ "pprof", cmd_pprof, true },
	{ "waits", cmd_waits, false },
};

#define READERS (sizeof(readers) / sizeof(readers[0]))

struct capture {
	pid_t pid;
	const char *path;      /* path of the request */
	const char *body;      /* of a POST request; NULL: GET */
	const char *read_path; /* see struct live_request */
	const char *output;    /* file for the recording itself; NULL: run the reader */
	uint64_t wait_ns;      /* expected time until the answer */
	const char *metric;    /* switches for the reader; NULL: none */
	const char *option;
	const struct jvm_profile *jvm; /* made by the JVM itself; NULL: by the agent */
	bool limits_period;            /* read only the time of this capture */
	char **reader_argv;            /* name and arguments of the reader; empty: top */
	int reader_argc;
};

/* Write RECORDING to a file without a name, which nothing has to remove: a signal may end a reader. Returns a descriptor,
 * or -errno. PATH leads to the file, as readers take paths. */
static int recording_write_file(const struct buf *recording, char *path, size_t size)
{
	const char *folder = getenv("TMPDIR");
	int fd, err;

	if ((size_t)snprintf(path, size, "%s/asprof-agent-live-XXXXXX",
			     folder && *folder ? folder : "/tmp") >= size)
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	snprintf(path, size, "/proc/self/fd/%d", fd);
	err = fd_write(fd, recording->data, recording->length, -1);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static const struct reader *find_reader(const char *name)
{
	for (size_t i = 0; i < READERS; i++)
		if (!strcmp(readers[i].name, name))
			return &readers[i];
	return NULL;
}

static int capture_run_reader(const struct capture *t, const struct reader *reader, char *path,
			      const uint64_t period_ms[2])
{
	char **argv = calloc((size_t)t->reader_argc + 12, sizeof(*argv)), from[32], to[32];
	int argc = 0, status;

	if (!argv) {
		message_print("out of memory");
		return COMMAND_FAILED;
	}
	argv[argc++] = (char *)(uintptr_t)reader->name;
	if (t->metric && reader->has_metrics)
		argv[argc++] = (char *)(uintptr_t)t->metric;
	if (t->option && reader->has_metrics)
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
	status = reader->function(argc, argv);
	free(argv);
	return status;
}

static int recording_write_output(const struct buf *recording, const char *path)
{
	struct output output;

	if (output_open(&output, path))
		return COMMAND_FAILED;
	fwrite(recording->data, 1, recording->length, output.file);
	return output_close(&output) ? COMMAND_FAILED : COMMAND_OK;
}

/* Returns 0, or -errno after a message. */
static int capture_receive(const struct capture *t, struct buf *recording)
{
	struct live_request request = { .pid = t->pid,
					.method = t->body ? "POST" : "GET",
					.path = t->path,
					.body = t->body ? t->body : "",
					.read_path = t->read_path,
					.wait_ns = t->wait_ns };
	char problem[JVM_PROBLEM_MAX];
	int err;

	if (!t->jvm)
		return live_request_send(&request, recording);
	err = jvm_profile_make(t->jvm, recording, problem);
	if (err)
		message_print("process %d: %s", t->pid, problem);
	return err;
}

/* Returns NULL after a message if there is no such reader. */
static const struct reader *capture_find_reader(const struct capture *t)
{
	const char *name = t->reader_argc ? t->reader_argv[0] : "top";
	const struct reader *reader = find_reader(name);

	if (!reader)
		message_print("'%s': takes top, collapsed, flamegraph, pprof or waits", name);
	return reader;
}

/* Pass RECORDING, which was received since BEGIN_MS, to the reader. */
static int capture_show(const struct capture *t, const struct reader *reader,
			const struct buf *recording, uint64_t begin_ms)
{
	uint64_t period_ms[2] = { begin_ms, clock_realtime_ns() / 1000000 + 1 };
	char path[4096];
	int fd, status;

	if (t->output)
		return recording_write_output(recording, t->output);
	fd = recording_write_file(recording, path, sizeof(path));
	if (fd < 0) {
		message_print("cannot write the recording: %s", strerror(-fd));
		return COMMAND_FAILED;
	}
	status = capture_run_reader(t, reader, path, period_ms);
	close(fd);
	return status;
}

static int capture_read(const struct capture *t)
{
	struct buf recording = BUF_INIT(LIVE_ANSWER_MAX);
	const struct reader *reader = capture_find_reader(t);
	uint64_t begin_ms = clock_realtime_ns() / 1000000;
	int status = COMMAND_FAILED;

	if (!reader)
		return COMMAND_USAGE;
	if (!capture_receive(t, &recording))
		status = capture_show(t, reader, &recording, begin_ms);
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

/* ---- profile ---- */

#define EVENTS_MAX 256

enum { PROFILE_CPU, PROFILE_WALL, PROFILE_MEM, PROFILE_KINDS };

static const struct {
	const char *name, *metric, *variable, *interval, *path;
} profile_kinds[PROFILE_KINDS] = {
	{ "--cpu", "--cpu", "CPU_INTERVAL", "10ms", "/debug/pprof/profile" },
	{ "--wall", "--wall", "WALL_INTERVAL", "10ms", "/debug/pprof/wall" },
	{ "--mem", "--alloc", "NATIVE_MEM", "512k", "/recording" },
};

/* Readers by the suffix of the output's name; no reader: the recording itself. */
static const struct {
	const char *suffix, *reader;
} profile_outputs[] = {
	{ ".jfr", NULL },      { ".html", "flamegraph" },     { ".pb.gz", "pprof" },
	{ ".pprof", "pprof" }, { ".collapsed", "collapsed" }, { ".folded", "collapsed" },
};

struct profile {
	uint64_t ns;
	const char *intervals[PROFILE_KINDS]; /* NULL: not wanted */
	bool unchanged, attaches, is_forced;
	char *output;
};

/* Parse `NAME`, `NAME=INTERVAL` or `NAME INTERVAL` at ARGV[*I]. A reader's name does not begin with a digit. */
static bool profile_parse_kind(struct profile *profile, char **argv, int *i)
{
	const char *word = argv[*i], *next = argv[*i + 1];

	for (size_t kind = 0; kind < PROFILE_KINDS; kind++) {
		size_t length = strlen(profile_kinds[kind].name);

		if (strncmp(word, profile_kinds[kind].name, length) ||
		    (word[length] && word[length] != '='))
			continue;
		profile->intervals[kind] = profile_kinds[kind].interval;
		if (word[length])
			profile->intervals[kind] = word + length + 1;
		else if (next && *next >= '0' && *next <= '9')
			profile->intervals[kind] = argv[++*i];
		return true;
	}
	return false;
}

/* Parse the switches from ARGV[*I]. Returns false after a message. */
static bool profile_parse(struct profile *profile, int argc, char **argv, int *i)
{
	for (; *i < argc && argv[*i][0] == '-'; (*i)++) {
		const char *word = argv[*i];

		if (!strcmp(word, "-t") && *i + 1 < argc) {
			if (args_duration(argv[++*i], &profile->ns)) {
				message_print("profile: -t %s: takes a duration such as 10s or 2m",
					      argv[*i]);
				return false;
			}
		} else if (!strcmp(word, "-o") && *i + 1 < argc) {
			profile->output = argv[++*i];
		} else if (!strcmp(word, "--unchanged")) {
			profile->unchanged = true;
		} else if (!strcmp(word, "--attach")) {
			profile->attaches = true;
		} else if (!strcmp(word, "--force")) {
			profile->is_forced = true;
		} else if (!profile_parse_kind(profile, argv, i)) {
			message_print("profile: '%s' is not -t TIME, --cpu, --wall, --mem, "
				      "--attach, --unchanged or -o FILE",
				      word);
			return false;
		}
	}
	return true;
}

/* Set the reader of T for the output's name. READER_ARGV has room for its words. */
static bool profile_choose_output(const struct profile *profile, struct capture *t,
				  char *reader_argv[3])
{
	for (size_t i = 0; i < sizeof(profile_outputs) / sizeof(profile_outputs[0]); i++) {
		if (!text_has_suffix(profile->output, profile_outputs[i].suffix))
			continue;
		if (!profile_outputs[i].reader) {
			t->output = profile->output;
			return true;
		}
		reader_argv[0] = (char *)(uintptr_t)profile_outputs[i].reader;
		reader_argv[1] = (char *)(uintptr_t) "-o";
		reader_argv[2] = profile->output;
		t->reader_argv = reader_argv;
		t->reader_argc = 3;
		return true;
	}
	message_print("profile: %s: the name must end in .jfr, .html, .pb.gz or .collapsed",
		      profile->output);
	return false;
}

/* Set the request of T, with PATHS and BODY as storage, and its metric. Returns false after a message. */
static bool profile_choose_request(const struct profile *profile, struct capture *t,
				   char paths[2][128], char body[512])
{
	size_t used = 0, kinds = 0, last = 0;

	for (size_t i = 0; i < PROFILE_KINDS; i++) {
		if (!profile->intervals[i])
			continue;
		last = i;
		kinds++;
		used += (size_t)snprintf(body + used, 512 - used, "%s=%.100s\n",
					 profile_kinds[i].variable, profile->intervals[i]);
	}
	if (kinds > 1 && !t->output) {
		message_print("profile: choose one of --cpu, --wall and --mem, or write a .jfr");
		return false;
	}
	t->metric = profile_kinds[last].metric;
	snprintf(paths[0], sizeof(paths[0]), "/profile?form=jfr&seconds=%.3f",
		 (double)profile->ns / 1e9);
	snprintf(paths[1], sizeof(paths[1]), "%s?form=jfr&seconds=%.3f",
		 kinds > 1 ? "/recording" : profile_kinds[last].path, (double)profile->ns / 1e9);
	t->body = profile->unchanged ? NULL : body;
	t->path = profile->unchanged ? paths[1] : paths[0];
	t->read_path = profile->unchanged ? NULL : paths[1];
	t->wait_ns = profile->ns;
	return true;
}

/* CPU time, or what READER needs. */
static void profile_set_default_kind(struct profile *profile, const char *reader)
{
	size_t kind = strcmp(reader, "waits") ? PROFILE_CPU : PROFILE_WALL;

	if (!profile->intervals[PROFILE_WALL] && !profile->intervals[PROFILE_MEM] &&
	    !profile->intervals[PROFILE_CPU])
		profile->intervals[kind] = profile_kinds[kind].interval;
}

/* Signals that end the command. While the agent is in the process they end the child only. */
static const int ending_signals[] = { SIGHUP, SIGINT, SIGTERM };

#define ENDING_SIGNALS (sizeof(ending_signals) / sizeof(*ending_signals))

static volatile pid_t receiving_child; /* 0: none */
static volatile sig_atomic_t ended_by; /* a signal that came before */

static void end_child(int signo)
{
	ended_by = signo;
	if (receiving_child > 0)
		kill(receiving_child, signo);
}

void ending_signals_block(sigset_t *mask)
{
	sigset_t ending;

	sigemptyset(&ending);
	for (size_t i = 0; i < ENDING_SIGNALS; i++)
		sigaddset(&ending, ending_signals[i]);
	sigprocmask(SIG_BLOCK, &ending, mask);
}

/* They end the child only; BEFORE is set to the former actions. */
static void ending_signals_set(struct sigaction before[ENDING_SIGNALS])
{
	const struct sigaction action = { .sa_handler = end_child, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < ENDING_SIGNALS; i++)
		sigaction(ending_signals[i], &action, &before[i]);
}

static void ending_signals_restore(const struct sigaction before[ENDING_SIGNALS])
{
	for (size_t i = 0; i < ENDING_SIGNALS; i++)
		sigaction(ending_signals[i], &before[i], NULL);
}

/* Start a child with the actions BEFORE. A signal that comes meanwhile is for the child. Returns -1 with errno on failure, which
 * is EINTR if one came before. */
static pid_t receiving_child_start(const struct sigaction before[ENDING_SIGNALS])
{
	sigset_t mask;
	pid_t child;

	ending_signals_block(&mask);
	errno = EINTR;
	child = ended_by ? -1 : fork();
	if (!child)
		ending_signals_restore(before);
	else
		receiving_child = child;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return child;
}

__attribute__((noreturn)) static void child_receive(const struct capture *t, int out)
{
	struct buf recording = BUF_INIT(LIVE_ANSWER_MAX);
	int err = capture_receive(t, &recording);

	if (!err)
		err = fd_write(out, recording.data, recording.length, -1);
	_exit(err ? COMMAND_FAILED : COMMAND_OK);
}

/* Receive in a child, which a signal may end: this process still has to remove the agent. BEFORE: the actions of the ending
 * signals. Returns 0, or a status after a message. */
static int capture_receive_in_child(const struct capture *t, const struct sigaction *before,
				    struct buf *recording)
{
	int ends[2], status = 0, err = pipe2(ends, O_CLOEXEC) ? -errno : 0;
	pid_t child;

	child = err ? -1 : receiving_child_start(before);
	if (!child)
		child_receive(t, ends[1]);
	if (!err) {
		close(ends[1]);
		err = child < 0 ? -errno : buf_append_file(recording, ends[0]);
		close(ends[0]);
	}
	receiving_child = 0;
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (err)
		message_print("cannot receive the profile: %s", strerror(-err));
	return err                 ? COMMAND_FAILED
	       : WIFEXITED(status) ? WEXITSTATUS(status)
				   : 128 + WTERMSIG(status);
}

/* Put the agent into the process for the time of the capture. It also delivers a report at the end. */
static int capture_attached(const struct capture *t, bool is_forced)
{
	static char start_delay[] = OPTION_PREFIX "START_DELAY=0s";
	char *settings[] = { start_delay, NULL };
	struct buf recording = BUF_INIT(LIVE_ANSWER_MAX);
	const struct reader *reader = capture_find_reader(t);
	struct sigaction before[ENDING_SIGNALS];
	uint64_t begin_ms;
	int status, end;

	if (!reader)
		return COMMAND_USAGE;
	ending_signals_set(before);
	status = attach_process(t->pid, settings, is_forced);
	if (status) {
		ending_signals_restore(before);
		return ended_by ? 128 + ended_by : status;
	}
	begin_ms = clock_realtime_ns() / 1000000;
	status = capture_receive_in_child(t, before, &recording);
	end = detach_process(t->pid);
	ending_signals_restore(before);
	if (!status)
		status = capture_show(t, reader, &recording, begin_ms);
	buf_free(&recording);
	return status ? status : end;
}

/* Write the kinds as options of async-profiler. Returns false if it does not know such an interval. */
static bool profile_write_events(const struct profile *profile, char events[EVENTS_MAX])
{
	const char *cpu = profile->intervals[PROFILE_CPU], *wall = profile->intervals[PROFILE_WALL],
		   *mem = profile->intervals[PROFILE_MEM];
	uint64_t cpu_ns = 0, wall_ns = 0;
	int used = 0;

	if ((cpu && args_duration(cpu, &cpu_ns)) || (wall && args_duration(wall, &wall_ns)) ||
	    (mem && strlen(mem) > EVENTS_MAX / 4))
		return false;
	if (cpu || wall)
		used = snprintf(events, EVENTS_MAX, "event=%s,interval=%" PRIu64 "us",
				cpu ? "cpu" : "wall", (cpu ? cpu_ns : wall_ns) / 1000);
	if (cpu && wall)
		used += snprintf(events + used, (size_t)(EVENTS_MAX - used), ",wall=%" PRIu64 "us",
				 wall_ns / 1000);
	if (mem)
		snprintf(events + used, (size_t)(EVENTS_MAX - used), "%snativemem=%s",
			 used ? "," : "", mem);
	return true;
}

/* Make the profile in a process without an agent. */
static int profile_attached(const struct profile *profile, struct capture *t)
{
	char library[PATH_MAX], events[EVENTS_MAX];
	const struct jvm_profile jvm = { t->pid, library, events, profile->ns };

	if (!run_find_async_profiler(library) || !jvm_can_load(t->pid, library) ||
	    !profile_write_events(profile, events))
		return capture_attached(t, profile->is_forced);
	t->jvm = &jvm;
	return capture_read(t);
}

int cmd_profile(int argc, char **argv)
{
	struct capture t = { .limits_period = true };
	struct profile profile = { .ns = 10000000000u };
	char paths[2][128], body[512], *reader_argv[3];
	int i = 2;

	if (!command_parse_pid(argv[1], &t.pid) || !profile_parse(&profile, argc, argv, &i))
		return COMMAND_USAGE;
	t.reader_argv = argv + i;
	t.reader_argc = argc - i;
	if (profile.output && t.reader_argc) {
		message_print("profile: give either -o FILE or %s with its own -o", argv[i]);
		return COMMAND_USAGE;
	}
	profile_set_default_kind(&profile, t.reader_argc ? t.reader_argv[0] : "top");
	if ((profile.output && !profile_choose_output(&profile, &t, reader_argv)) ||
	    !profile_choose_request(&profile, &t, paths, body))
		return COMMAND_USAGE;
	if (profile.attaches && !live_endpoint_has_agent(t.pid))
		return profile_attached(&profile, &t);
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
