/* async-profiler as an engine, on the agent's side. */
#include "asyncprof/engine_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "asyncprof/command_output.h"
#include "asyncprof/start_string.h"
#include "core/agent/failure.h"
#include "asyncprof/java.h"
#include "core/agent_phase.h"
#include "core/agent/async_profiler.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/futex.h"
#include "core/log.h"
#include "core/options/config.h"
#include "core/privileges.h"
#include "core/shared.h"

#define NAME "async-profiler"

/* The functions of struct engine have no argument for it. */
static struct {
	struct mailbox *mailbox;
	struct wake *wake;
	char problem[MAILBOX_PROBLEM_MAX];
	uint64_t skipped_before; /* the mailbox's number at the start of the engine */
	bool starts_in_java;     /* the request loads or starts the library in a Java process */
} client;

static bool mailbox_change_state(struct mailbox *mailbox, uint32_t from, uint32_t to)
{
	if (!atomic_compare_exchange_strong(&mailbox->state, &from, to))
		return false;
	atomic_fetch_add(&mailbox->changes, 1);
	futex_wake(&mailbox->changes);
	return true;
}

static uint64_t time_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Return when the wait for a request sent at SENT_NS ends. */
static uint64_t request_timeout_ns(uint64_t sent_ns)
{
	uint64_t min_ns = sent_ns + ENGINE_CLIENT_TIMEOUT_MIN_NS, stop_ns;

	if (!(atomic_load(&shared->agent.state) & AGENT_STOP))
		return sent_ns + ENGINE_CLIENT_TIMEOUT_NS;
	stop_ns = atomic_load(&shared->agent.stop_by_ns);
	return time_min(sent_ns + ENGINE_CLIENT_TIMEOUT_NS, stop_ns > min_ns ? stop_ns : min_ns);
}

/* Interval of the checks whether the exit of the Java VM blocks the thread. */
#define BLOCKED_CHECK_NS 20000000u

/* True if the request is to load or start the library in a Java process that exits. */
static bool start_may_block(void)
{
	return client.starts_in_java && (atomic_load(&client.mailbox->is_exiting) ||
					 atomic_load(&shared->agent.state) & AGENT_STOP);
}

/* Returns false if there is no answer; then there never will be one. Meanwhile stored lines of the log are written,
 * also those of the thread `asprof-engine`. */
static bool mailbox_wait_for_answer(struct mailbox *mailbox)
{
	uint64_t sent_ns = clock_monotonic_ns(), end_ns, check_ns;
	struct java_sleep sleep = { 0 };

	while (atomic_load(&mailbox->state) == MAILBOX_REQUESTED) {
		log_write_queued();
		privileges_follow(false);
		end_ns = request_timeout_ns(sent_ns);
		check_ns = privileges_due_ns();
		if (start_may_block()) {
			check_ns = clock_monotonic_ns() + BLOCKED_CHECK_NS;
			if (java_blocks(atomic_load(&mailbox->thread), &sleep))
				end_ns = sent_ns;
		}
		if (clock_monotonic_ns() < end_ns)
			wake_wait(client.wake, time_min(end_ns, check_ns));
		else if (mailbox_change_state(mailbox, MAILBOX_REQUESTED, MAILBOX_ABANDONED))
			break;
	}
	wake_up(client.wake); /* for all other events */
	return atomic_load(&mailbox->state) == MAILBOX_IDLE;
}

static bool problem_set(char *problem, const char *why)
{
	snprintf(problem, MAILBOX_PROBLEM_MAX, "%s", why);
	return false;
}

/* Send a request and wait for the answer, which is valid until the next request. On failure returns false and sets
 * PROBLEM. */
static bool mailbox_send(struct mailbox *mailbox, enum mailbox_request request, const char *text,
			 char *problem)
{
	size_t length = strlen(text);

	if (length >= sizeof(mailbox->text))
		return problem_set(problem, "the command is too long");
	if (atomic_load(&mailbox->state) != MAILBOX_IDLE)
		return problem_set(problem, "its thread has ended or does not answer");
	mailbox->client = client.wake;
	mailbox->request = request;
	memcpy(mailbox->text, text, length + 1);
	if (!mailbox_change_state(mailbox, MAILBOX_IDLE, MAILBOX_REQUESTED) ||
	    !mailbox_wait_for_answer(mailbox))
		return problem_set(problem, atomic_load(&mailbox->state) == MAILBOX_STUCK
						    ? mailbox->problem
						    : "it does not answer");
	memcpy(problem, mailbox->problem, MAILBOX_PROBLEM_MAX);
	return true;
}

/* Run COMMAND. Returns whether it succeeded. *OUTPUT is its output in the mailbox; NULL without an answer. */
static bool client_execute(const char *command, char **output)
{
	struct mailbox *mailbox = client.mailbox;

	*output = NULL;
	if (!mailbox_send(mailbox, MAILBOX_EXECUTE, command, client.problem))
		return false;
	*output = mailbox->answer;
	mailbox->answer[mailbox->answer_length] = '\0';
	return !mailbox->err;
}

static void log_output(char *rest)
{
	char *line;

	while ((line = strsep(&rest, "\n"))) {
		if (strstr(line, "[WARN]") || strstr(line, "[ERROR]"))
			log_warn(NAME ": %s", line);
		else if (*line)
			log_info(NAME ": %s", line);
	}
}

static int client_run(const char *command)
{
	char *output;
	bool is_done = client_execute(command, &output);

	log_output(output);
	return is_done ? 0
		       : failed(-EIO, NAME ": %.*s failed: %s", (int)strcspn(command, ","), command,
				client.problem);
}

static int client_start(const struct engine_start *wanted)
{
	struct buf command = BUF_INIT(MAILBOX_TEXT_MAX);
	struct engine_start start = *wanted;
	int err;

	client.starts_in_java = java_is_loaded();
	if (!client.starts_in_java)
		start.lock_ns = ENGINE_OFF; /* async-profiler would not start */
	err = start_string_write(&command, &start);
	if (err == -EFBIG) {
		failed(err,
		       OPTION_PREFIX "ENGINE_OPTIONS is too long: async-profiler's start command "
				     "has at most %d bytes",
		       MAILBOX_TEXT_MAX);
	} else if (err) {
		failed(err, "cannot make the start command: %s", strerror(-err));
	} else {
		log_debug(NAME ": %s", buf_string(&command));
		client.skipped_before = atomic_load(&client.mailbox->skipped);
		err = client_run(buf_string(&command));
		if (err && start_may_block())
			err = -ECANCELED;
	}
	client.starts_in_java = false;
	buf_free(&command);
	return err;
}

static int client_rotate(void)
{
	return client_run("dump,jfr");
}

static int client_stop(void)
{
	return client_run("stop");
}

static bool client_counts(const struct engine *engine, struct engine_counts *found)
{
	char *output;

	(void)engine;
	if (!client_execute("metrics", &output))
		return false; /* versions before 4.0 have no `metrics` */
	command_output_parse_counts(output, found);
	found->lost += atomic_load(&client.mailbox->skipped) - client.skipped_before;
	return true;
}

static void client_version(const struct engine *engine, char *text, size_t size)
{
	char *output;

	(void)engine;
	if (client_execute("version", &output))
		command_output_parse_version(output, text, size);
}

/* async-profiler 4.5 cannot restart in a process with a Java VM: it ends the program (seen with OpenJDK 17). */
static bool client_can_restart(void)
{
	return !java_is_loaded();
}

static void client_leave(void)
{
	mailbox_send(client.mailbox, MAILBOX_DETACH, "", client.problem);
}

int engine_client_open(struct engine *engine, struct mailbox *mailbox, struct wake *wake,
		       bool perf_allowed, char *problem)
{
	int send_err = 0;
	bool is_java;

	if (!mailbox)
		return -ENOENT;
	if (atomic_load(&mailbox->state) == MAILBOX_NO_THREAD) {
		snprintf(problem, MAILBOX_PROBLEM_MAX,
			 "cannot start a thread for async-profiler: %s", strerror(-mailbox->err));
		return mailbox->err;
	}
	client.mailbox = mailbox;
	client.wake = wake;
	mailbox->perf_allowed = perf_allowed;
	/* It looks for Java only at its start: later it could not name Java's methods. */
	mailbox->awaits_vm = false;
	is_java = java_is_loaded();
	if (is_java && !java_wait_until_started(wake, &mailbox->is_exiting, &mailbox->awaits_vm))
		return -ECANCELED;
	client.starts_in_java = is_java; /* the library enters the VM */
	if (!mailbox_send(mailbox, MAILBOX_LOAD, "", problem))
		send_err = start_may_block() ? -ECANCELED : -EIO;
	client.starts_in_java = false;
	if (send_err)
		return send_err;
	if (mailbox->err)
		return mailbox->err;
	*engine = (struct engine){
		.name = NAME,
		.start = client_start,
		.rotate = client_rotate,
		.stop = client_stop,
		.counts = client_counts,
		.version = client_version,
		.can_restart = client_can_restart,
		.leave = client_leave,
		.get_thread_local_data = mailbox->get_thread_local_data,
		.register_jfr_event = mailbox->register_jfr_event,
		.emit_jfr_event = mailbox->emit_jfr_event,
	};
	return 0;
}

void engine_client_close(struct mailbox *mailbox)
{
	if (mailbox)
		mailbox_change_state(mailbox, MAILBOX_IDLE, MAILBOX_ENDING);
}

int async_profiler_open(struct engine *engine, const struct config *config, struct wake *wake,
			char *problem)
{
	return engine_client_open(engine, shared->async_profiler, wake,
				  start_string_has_event(config->engine_options), problem);
}

void async_profiler_close(void)
{
	engine_client_close(shared->async_profiler);
}
