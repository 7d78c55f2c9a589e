/* attach, detach: put the agent into a process that runs without it, and remove it. */
#include "decoder/commands/args.h"
#include "decoder/commands/commands.h"
#include "decoder/live/attachable.h"
#include "decoder/live/jvm_attach.h"
#include "decoder/live/live_endpoint.h"
#include "decoder/live/live_request.h"
#include "decoder/live/target.h"
#include "decoder/output/message.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arch/remote.h"
#include "attach/tracing/running.h"
#include "core/clock.h"
#include "core/shared.h"
#include "core/options/option_view.h"

static const struct command_option attach_switches[] = {
	{ "--for", "TIME",
	  "profile so long, print the result, and detach; options of `profile` may follow", 0, 0 },
	{ "-o", "DIR", "directory for profiles", 0, 0 },
	{ "--cpu", "10ms", "CPU time between samples, or off (100ms)", 0, 0 },
	{ "--wall", "100ms", "wall-clock time between samples, or off (1s)", 0, 0 },
	{ "--force", NULL, "also if a seccomp filter of the process may end it", 0, 0 },
	{ 0 },
};

const struct command_option *const attach_options[] = { attach_switches, NULL };

/* How long the agent may need to begin, on a machine that is very busy, and to deliver its last report. */
#define BEGIN_NS 60000000000u
#define END_NS   30000000000u
#define PUT_NS   10000000000u

/* How long a process may be stopped by a signal, in looks of 10 ms. */
#define STOPPED_LOOKS 100

#define SETTINGS_MAX 64

/* Other numbers of blocks, of areas in one, and of an area's bytes are not valid. The process is not trusted, and `detach`
 * copies its blocks. */
#define AREAS_MAX      4096
#define AREA_BYTES_MIN 64
#define AREA_BYTES_MAX 4096

struct settings_list {
	char *list[SETTINGS_MAX + 1]; /* malloc'd strings */
	size_t count;
};

static void settings_free(struct settings_list *settings)
{
	while (settings->count)
		free(settings->list[--settings->count]);
}

/* Add NAME=VALUE; NAME has no prefix. Returns false after a message. */
static bool settings_add(struct settings_list *settings, const char *name, const char *value)
{
	char problem[OPTION_PROBLEM_MAX];

	if (option_check(name, value, problem)) {
		message_print("attach: %s", problem);
		return false;
	}
	if (settings->count == SETTINGS_MAX ||
	    asprintf(&settings->list[settings->count], OPTION_PREFIX "%s=%s", name, value) < 0) {
		message_print("attach: too many settings");
		return false;
	}
	settings->list[++settings->count] = NULL;
	return true;
}

/* ---- attach ---- */

static void pause_briefly(void)
{
	static const struct timespec time = { .tv_nsec = 10000000 };

	nanosleep(&time, NULL);
}

/* The memory of a program has other values of the auxiliary vector than that of an earlier program. */
#define AUXILIARY_MAX 4096

/* True while the process executes the program whose auxiliary vector is AUXILIARY. */
static bool is_same_program(const struct target *target, const struct buf *auxiliary)
{
	struct buf now = BUF_INIT(AUXILIARY_MAX);
	bool is_same = !target_read_file(&now, target, "auxv") && now.length == auxiliary->length &&
		       !memcmp(now.data, auxiliary->data, now.length);

	buf_free(&now);
	return is_same;
}

static bool agent_answers(pid_t pid, uint64_t deadline)
{
	struct live_connection connection;
	char problem[LIVE_PROBLEM_MAX];

	if (live_endpoint_connect(pid, deadline, &connection, problem))
		return false;
	close(connection.fd);
	return true;
}

/* Wait until the agent, which HAS_BEGUN or will begin, answers, or ends, or until the program does. Returns 0, or a status
 * after a message. */
static int agent_await(const struct target *target, const struct buf *auxiliary, bool has_begun)
{
	uint64_t deadline = clock_monotonic_ns() + BEGIN_NS;
	bool has_agent = has_begun, had_agent, is_same;
	int stopped_looks = 0;

	do {
		pause_briefly();
		stopped_looks = target_is_stopped(target) ? stopped_looks + 1 : 0;
		if (stopped_looks == STOPPED_LOOKS) {
			message_print("process %d is stopped by a signal; the agent is in it, and "
				      "begins when it continues: kill -CONT %d",
				      target->pid, target->pid);
			return COMMAND_FAILED;
		}
		is_same = is_same_program(target, auxiliary);
		if (is_same && agent_answers(target->pid, deadline))
			return 0;
		had_agent = has_agent;
		has_agent = live_endpoint_has_agent(target->pid);
		if (is_same && is_same_program(target, auxiliary))
			continue;
		message_print("process %d has ended, or executed another program; it is not "
			      "profiled",
			      target->pid);
		return COMMAND_FAILED;
	} while (clock_monotonic_ns() < deadline && (has_agent || !had_agent));
	message_print(
		"the agent was put into process %d, but does not answer; the reason is on the "
		"standard error of that process",
		target->pid);
	return COMMAND_FAILED;
}

/* Put the agent into the process, and set AUXILIARY to the auxiliary vector of its program. Returns 0, or a status after a
 * message. */
static int attach_put(const struct inject_request *request, const struct target *target,
		      bool is_forced, struct buf *auxiliary, bool *has_begun)
{
	uint64_t deadline = clock_monotonic_ns() + PUT_NS;
	char problem[ATTACHABLE_PROBLEM_MAX];
	uintptr_t vdso;
	int refused, err = 0;

	/* The program that is checked must be the one that gets the agent. A process that just begins executes another one. */
	do {
		vdso = tracee_find_vdso(request->pid);
		buf_reset(auxiliary);
		target_read_file(auxiliary, target, "auxv");
		refused = attachable_check(request->pid, is_forced, problem);
		err = refused ? 0 : running_attach(request, vdso, has_begun, problem);
	} while (err == -ESTALE && clock_monotonic_ns() < deadline);
	/* By another command, since the check. */
	if (err == -EALREADY)
		refused = attachable_check(request->pid, is_forced, problem);
	if (refused)
		message_print("process %d %s", request->pid, problem);
	else if (err)
		message_print("cannot attach to process %d: %s", request->pid, problem);
	return refused || err ? COMMAND_FAILED : 0;
}

int attach_process(pid_t pid, char *const *settings, bool is_forced)
{
	struct buf auxiliary = BUF_INIT(AUXILIARY_MAX);
	struct target target = { .dir = -1 };
	char payload[PATH_MAX];
	struct inject_request request = { .pid = pid, .payload = payload, .settings = settings };
	bool has_begun = false;
	int status;

	if (!remote_is_supported()) {
		message_print("attach: not available on this processor; start the program with "
			      "LD_PRELOAD=libasprof_preload.so");
		return COMMAND_FAILED;
	}
	if (!run_find_attached(payload)) {
		message_print("attach: libasprof_attach.so is not installed next to this command");
		return COMMAND_FAILED;
	}
	target_open(&target, pid); /* without it there is no process, which the check finds */
	status = attach_put(&request, &target, is_forced, &auxiliary, &has_begun);
	if (!status)
		status = agent_await(&target, &auxiliary, has_begun);
	buf_free(&auxiliary);
	target_close(&target);
	return status;
}

/* Add the setting of the switch or word at ARGV[*I]. Returns 0, or a status after a message. */
static int attach_parse(struct settings_list *settings, char **argv, int *i)
{
	static const char *const variables[][2] = {
		{ "-o", "LOCAL_DIR" },
		{ "--cpu", "CPU_INTERVAL" },
		{ "--wall", "WALL_INTERVAL" },
	};
	char *equals = strchr(argv[*i], '='), name[64], path[PATH_MAX];
	const char *value;

	for (size_t k = 0; k < sizeof(variables) / sizeof(*variables); k++) {
		if (strcmp(argv[*i], variables[k][0]) || !argv[*i + 1])
			continue;
		value = argv[++*i];
		if (!k && !(value = realpath(value, path))) {
			message_print("attach: %s: %s", argv[*i], strerror(errno));
			return COMMAND_USAGE;
		}
		return settings_add(settings, variables[k][1], value) ? 0 : COMMAND_USAGE;
	}
	if (argv[*i][0] == '-' || !equals || (size_t)(equals - argv[*i]) >= sizeof(name)) {
		message_print("attach: '%s' is no option, and not KEY=VALUE", argv[*i]);
		return COMMAND_USAGE;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(equals - argv[*i]), argv[*i]);
	return settings_add(settings, name, equals + 1) ? 0 : COMMAND_USAGE;
}

/* detach needs an endpoint, which over TCP needs a token for it. Returns 0, or a status after a message. */
static int attach_check_listen(const struct settings_list *settings)
{
	static const char listen[] = OPTION_PREFIX "LISTEN=",
			  token[] = OPTION_PREFIX "LISTEN_TOKEN=";
	const char *address = "auto";
	bool has_token = false;

	for (size_t i = 0; i < settings->count; i++) {
		if (!strncmp(settings->list[i], listen, strlen(listen)))
			address = settings->list[i] + strlen(listen);
		if (!strncmp(settings->list[i], token, strlen(token)))
			has_token = settings->list[i][strlen(token)] != '\0';
	}
	if (!strcmp(address, "off")) {
		message_print(
			"attach: with LISTEN=off no command could reach the agent, or end it; "
			"without it only this user and root can");
		return COMMAND_USAGE;
	}
	if (has_token || !strcmp(address, "auto") || !strncmp(address, "unix:", 5))
		return 0;
	message_print("attach: LISTEN=%s needs LISTEN_TOKEN=...: without it, detach and other "
		      "changes are refused over TCP",
		      address);
	return COMMAND_USAGE;
}

/* attach PID [OPTION...] --for TIME [OPTION...] is profile PID --attach -t TIME [OPTION...] [OPTION...]. AT: of --for. */
static int attach_for(int argc, char **argv, int at)
{
	static char profile[] = "profile", attach[] = "--attach", time[] = "-t";
	char **words = calloc((size_t)argc + 4, sizeof(*words));
	int count = 0, status;

	if (!words)
		return COMMAND_FAILED;
	words[count++] = profile;
	words[count++] = argv[1];
	words[count++] = attach;
	words[count++] = time;
	words[count++] = argv[at + 1];
	for (int i = 2; i < argc; i++)
		if (i != at && i != at + 1)
			words[count++] = argv[i];
	status = cmd_profile(count, words);
	free(words);
	return status;
}

int cmd_attach(int argc, char **argv)
{
	struct settings_list settings = { .count = 0 };
	bool is_forced = false;
	int status = 0;
	pid_t pid;

	if (!command_parse_pid(argv[1], &pid))
		return COMMAND_USAGE;
	for (int i = 2; i + 1 < argc; i++)
		if (!strcmp(argv[i], "--for"))
			return attach_for(argc, argv, i);
	/* The profile is wanted now. */
	settings_add(&settings, "START_DELAY", "0s");
	for (int i = 2; i < argc && !status; i++)
		if (!strcmp(argv[i], "--force"))
			is_forced = true;
		else
			status = attach_parse(&settings, argv, &i);
	if (!status)
		status = attach_check_listen(&settings);
	if (!status)
		status = attach_process(pid, settings.list, is_forced);
	settings_free(&settings);
	if (!status)
		message_print("process %d is profiled now; asprof-agent profile %d shows it, "
			      "asprof-agent detach %d ends it",
			      pid, pid, pid);
	if (!status && jvm_is_hotspot(pid))
		message_print("process %d is a JVM: its Java methods are one frame, [Java]; "
			      "asprof-agent attach %d --for 30s has them, with the package "
			      "asprof-agent-java",
			      pid, pid);
	return status;
}

/* ---- detach ---- */

/* Ask the agent to end. Returns false after a message. */
static bool agent_end(pid_t pid, struct attached_range *range)
{
	struct buf answer = BUF_INIT(4096);
	struct live_request request = {
		.pid = pid, .method = "POST", .path = "/detach", .body = "", .wait_ns = END_NS
	};
	bool is_parsed;

	if (live_request_send(&request, &answer)) {
		buf_free(&answer);
		return false;
	}
	is_parsed = buf_string(&answer) &&
		    sscanf(buf_string(&answer), ATTACHED_RANGE_SCAN, &range->start, &range->bytes,
			   &range->region, &range->region_bytes, &range->areas, &range->area_blocks,
			   &range->block_areas, &range->area_bytes) == 8 &&
		    range->area_blocks <= AREAS_MAX && range->block_areas <= AREAS_MAX &&
		    range->area_bytes >= AREA_BYTES_MIN && range->area_bytes <= AREA_BYTES_MAX;
	if (!is_parsed)
		message_print("process %d: the answer to /detach is not valid", pid);
	buf_free(&answer);
	return is_parsed;
}

static bool agent_has_ended(pid_t pid)
{
	uint64_t deadline = clock_monotonic_ns() + END_NS;

	while (live_endpoint_has_agent(pid)) {
		if (clock_monotonic_ns() > deadline)
			return false;
		pause_briefly();
	}
	return true;
}

static int detach_in_steps(pid_t pid)
{
	uintptr_t vdso = tracee_find_vdso(pid); /* of the program that answers */
	char problem[TRACEE_PROBLEM_MAX];
	struct attached_range range;

	if (!agent_end(pid, &range))
		return COMMAND_FAILED;
	if (!agent_has_ended(pid)) {
		message_print("process %d: the agent has not ended within %d s; it stays mapped",
			      pid, (int)(END_NS / 1000000000u));
		return COMMAND_FAILED;
	}
	if (running_detach(pid, vdso, &range, problem)) {
		message_print("process %d: profiling has ended; %s", pid, problem);
		return COMMAND_FAILED;
	}
	return 0;
}

int detach_process(pid_t pid)
{
	sigset_t mask;
	int status;

	/* Between the steps nothing else knows what is to be unmapped. */
	ending_signals_block(&mask);
	status = detach_in_steps(pid);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return status;
}

int cmd_detach(int argc, char **argv)
{
	pid_t pid;

	if (argc > 2) {
		message_print("detach takes one process ID only");
		return COMMAND_USAGE;
	}
	return command_parse_pid(argv[1], &pid) ? detach_process(pid) : COMMAND_USAGE;
}
