/* async-profiler as an engine, on the agent's side. */
#include "asyncprof/engine_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "asyncprof/command_output.h"
#include "asyncprof/java.h"
#include "core/agent_phase.h"
#include "core/clock.h"
#include "core/futex.h"
#include "core/log.h"
#include "core/privileges.h"
#include "core/shared.h"

/* struct engine's functions are told of none. */
static struct {
	struct mailbox *mailbox;
	struct wake *wake;
	char problem[MAILBOX_PROBLEM_MAX];
} client;

static bool mailbox_change_state(struct mailbox *mailbox, uint32_t from, uint32_t to)
{
	if (!atomic_compare_exchange_strong(&mailbox->state, &from, to))
		return false;
	atomic_fetch_add(&mailbox->rung, 1);
	futex_wake(&mailbox->rung);
	return true;
}

static uint64_t earlier_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When to wait no longer for what was asked at ASKED_NS. */
static uint64_t request_timeout_ns(uint64_t sent_ns)
{
	uint64_t haste_ns = sent_ns + ENGINE_CLIENT_TIMEOUT_MIN_NS, stop_ns;

	if (!(atomic_load(&shared->agent.state) & AGENT_STOP))
		return sent_ns + ENGINE_CLIENT_TIMEOUT_NS;
	stop_ns = atomic_load(&shared->agent.stop_by_ns);
	return earlier_ns(sent_ns + ENGINE_CLIENT_TIMEOUT_NS,
			  stop_ns > haste_ns ? stop_ns : haste_ns);
}

/* False where it has not come; then it never will. Lines of the log that are kept meanwhile are said:
 * those of async-profiler's own thread are among them. */
static bool mailbox_wait_for_answer(struct mailbox *mailbox)
{
	uint64_t sent_ns = clock_monotonic_ns(), end_ns;

	while (atomic_load(&mailbox->state) == MAILBOX_REQUESTED) {
		log_write_queued();
		privileges_follow(false);
		end_ns = request_timeout_ns(sent_ns);
		if (clock_monotonic_ns() < end_ns)
			wake_wait(client.wake, earlier_ns(end_ns, privileges_due_ns()));
		else if (mailbox_change_state(mailbox, MAILBOX_REQUESTED, MAILBOX_ABANDONED))
			break;
	}
	wake_up(client.wake); /* whatever else it was to see */
	return atomic_load(&mailbox->state) == MAILBOX_IDLE;
}

static bool problem_set(char *problem, const char *why)
{
	snprintf(problem, MAILBOX_PROBLEM_MAX, "%s", why);
	return false;
}

/* False, with PROBLEM, where there is no answer. One is good until the next question. */
static bool mailbox_send(struct mailbox *mailbox, enum mailbox_request question, const char *text,
			 char *problem)
{
	size_t length = strlen(text);

	if (length >= sizeof(mailbox->text))
		return problem_set(problem, "the command is too long");
	if (atomic_load(&mailbox->state) != MAILBOX_IDLE)
		return problem_set(problem, "its thread is gone, or does not answer");
	mailbox->asker = client.wake;
	mailbox->question = question;
	memcpy(mailbox->text, text, length + 1);
	if (!mailbox_change_state(mailbox, MAILBOX_IDLE, MAILBOX_REQUESTED) ||
	    !mailbox_wait_for_answer(mailbox))
		return problem_set(problem, "it does not answer");
	memcpy(problem, mailbox->problem, MAILBOX_PROBLEM_MAX);
	return true;
}

static const char *error_str(asprof_error_t err)
{
	return err;
}

static asprof_error_t execute(const char *command, asprof_writer_t output)
{
	const struct mailbox *mailbox = client.mailbox;

	if (!mailbox_send(client.mailbox, MAILBOX_EXECUTE, command, client.problem))
		return client.problem;
	if (mailbox->answer_length)
		output(mailbox->answer, mailbox->answer_length);
	return mailbox->err ? client.problem : NULL;
}

static uint64_t took_ns(void)
{
	return client.mailbox->took_ns;
}

static void leave(void)
{
	mailbox_send(client.mailbox, MAILBOX_DETACH, "", client.problem);
}

int engine_client_open(struct engine *engine, struct mailbox *mailbox, struct wake *wake,
		       bool perf_allowed, char *problem)
{
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
	/* It looks for Java once, as it is started: later on there would be no names for Java's methods. */
	if (java_is_loaded() && !java_wait_until_started(wake))
		return -ECANCELED;
	if (!mailbox_send(mailbox, MAILBOX_LOAD, "", problem))
		return -EIO;
	if (mailbox->err)
		return mailbox->err;
	*engine = (struct engine){
		.name = "async-profiler",
		.error_str = error_str,
		.execute = execute,
		.counts = command_output_parse_counts,
		.version = answers_version,
		.took_ns = took_ns,
		.leave = leave,
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
