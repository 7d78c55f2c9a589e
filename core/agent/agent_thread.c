/* The agent thread: when it starts, reports and ends. */
#include "core/agent/agent_thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/agent.h"
#include "core/agent_phase.h"
#include "core/clock.h"
#include "core/agent/engine_command.h"
#include "core/agent/failure.h"
#include "core/agent/waiters.h"
#include "core/agent/last_thread.h"
#include "core/agent/live.h"
#include "core/futex.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/random.h"
#include "core/agent/session.h"
#include "core/shared.h"
#include "core/signal_share.h"

/* How often it is seen how many signals may pend still, and whether the program is there still. */
#define LOOK_NS 1000000000u

/* A program that ends sooner waits for what the agent does then, and it has little to do until then but after a report. */
#define LOW_PRIORITY_AFTER_NS 10000000000u

/* The most that the other threads of ours are waited for when there is something to give up. */
#define FOLLOWERS_NS 100000000u

/* What was asked for up to number ASKED is done. */
static void flushes_complete(uint32_t asked)
{
	if (atomic_exchange(&shared->agent.flushes_done, asked) != asked)
		futex_wake(&shared->agent.flushes_done);
}

/* A fleet that was started at one moment must not send at one moment: where reports are sent,
 * the first interval is shorter, by up to a half, and all later ones keep that beat. */
static uint64_t first_interval(const struct config *config)
{
	uint64_t interval = config->reporting_interval_ns;

	return config->s3_bucket ? interval - random_below(interval / 2 + 1) : interval;
}

static uint64_t earlier_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns 0, or -errno as failed() has it: this thread must not do anything any more. */
static int agent_drop_privileges(bool at_once)
{
	uint32_t asked = atomic_load(&shared->agent.follows_asked);
	int err = privileges_follow(at_once);

	waiters_wake(FOLLOWERS_NS);
	if (atomic_exchange(&shared->agent.follows_done, asked) != asked)
		futex_wake(&shared->agent.follows_done);
	return err ? failed(err, "cannot give up the privileges that the program gave up: %s",
			    strerror(-err))
		   : 0;
}

/* Have stalls watched for as the settings are now, where they were as *WATCHED says. */
static void stalls_apply_setting(const struct session *session, uint64_t *watched)
{
	const struct stall_watch *stalls = session->with.stalls;
	uint64_t wanted = session->config->stalls_ns;

	if (!stalls || session->paused || wanted == *watched)
		return;
	if (wanted == OPTION_OFF) {
		stalls->close();
	} else if (*watched != OPTION_OFF) {
		stalls->set(wanted);
	} else {
		stalls->open(wanted, session->with.engine->service != NULL);
	}
	*watched = wanted;
}

/* Whether the program's threads find an engine at work. */
static void agent_publish_pause(const struct session *session, bool paused)
{
	atomic_store(&shared->agent.running_engine, paused ? NULL : session->with.engine);
	atomic_store(&shared->agent.paused, paused);
	if (session->with.stalls)
		session->with.stalls->pause(paused);
}

/* A thread of the program wants a setting: as the live endpoint asks for one. Nobody waits who has given up. */
static int setting_serve(struct session *session)
{
	static struct live_call call;
	uint32_t asked = SETTING_ASKED;
	int err;

	if (!atomic_compare_exchange_strong(&shared->agent.setting.state, &asked, SETTING_BUSY))
		return 0;
	call = (struct live_call){ .question = LIVE_OPTIONS, .option_count = 1 };
	call.options[0].name = shared->agent.setting.name;
	call.options[0].value = shared->agent.setting.value;
	err = session_answer(session, &call);
	if (call.err)
		log_warn("asprof_agent_set: %s=%s: %s", shared->agent.setting.name,
			 shared->agent.setting.value,
			 *call.problem ? call.problem : strerror(-call.err));
	shared->agent.setting.err = call.err;
	atomic_store(&shared->agent.setting.state, SETTING_ANSWERED);
	futex_wake(&shared->agent.setting.state);
	return err;
}

/* Have what was asked of the session answered, and a pause end. */
static int requests_serve(struct session *session, struct live *live)
{
	struct live_call *call = live_get_pending(live);
	bool was_paused = session->paused;
	int err = setting_serve(session);

	if (!err && call) {
		if (call->question == LIVE_STOP)
			agent_publish_pause(session,
					    true); /* as at the end: before the engine stops */
		err = session_answer(session, call);
		if (session->paused != was_paused || call->question == LIVE_STOP)
			agent_publish_pause(session, session->paused);
		live_complete(live);
	} else if (was_paused && !atomic_load(&shared->agent.paused)) {
		if (session_resume(session))
			log_error("%s; profiling stays off", failure());
		agent_publish_pause(session, session->paused);
	}
	return err;
}

/* Nicer than the program, but not where what it has yet to take down is lost with the process. */
static void agent_lower_priority(const struct session *session)
{
	if (!session->kept)
		own_thread_lower_priority();
}

/* Sample and report until asked to stop, or until the engine fails. Stalls are watched for as *STALLS_NS says. */
static int agent_loop(struct session *session, struct live *live, uint64_t *stalls_ns)
{
	uint64_t interval = session->config->reporting_interval_ns, now, due_ns;
	uint64_t check_ns = 0, began_ns = clock_monotonic_ns();
	uint64_t tick_ns = began_ns + first_interval(session->config);
	uint32_t asked;
	int err = 0;

	while (!err && !agent_stop_is_requested()) {
		log_write_queued();
		err = agent_drop_privileges(false);
		if (err)
			break;
		err = requests_serve(session, live);
		if (err)
			break;
		stalls_apply_setting(session, stalls_ns);
		now = clock_monotonic_ns();
		if (interval != session->config->reporting_interval_ns) {
			interval = session->config->reporting_interval_ns;
			tick_ns = now + interval;
		}
		if (now >= check_ns) {
			if (now - began_ns >= LOW_PRIORITY_AFTER_NS)
				agent_lower_priority(session);
			signal_share_measure();
			if (last_thread_is_gone()) {
				atomic_store(&shared->agent.stop_by_ns,
					     now + session->config->exit_timeout_ns);
				break;
			}
			check_ns = now + LOOK_NS;
		}
		due_ns = session_service(session, now);
		/* One that is asked for while a report is on its way is for the next. */
		asked = atomic_load(&shared->agent.flushes_asked);
		if (now >= tick_ns || asked != atomic_load(&shared->agent.flushes_done)) {
			err = agent_drop_privileges(true);
			agent_lower_priority(session);
			if (!err)
				err = session_report(session);
			/* On the beat; but a beat that was missed is not made up for. */
			while (tick_ns <= now)
				tick_ns += interval;
			flushes_complete(asked);
			continue;
		}
		due_ns = earlier_ns(earlier_ns(due_ns, check_ns), privileges_due_ns());
		wake_wait(&shared->agent.wake, earlier_ns(due_ns, tick_ns));
	}
	return err;
}

/* False when a stop comes first: nothing was touched, and nothing is. */
static bool agent_wait_start_delay(uint64_t until)
{
	uint64_t now, check_ns = clock_monotonic_ns() + PRIVILEGES_CHECK_NS;
	uint32_t delayed = AGENT_DELAYED;
	bool woken = false;

	while (!agent_stop_is_requested() && (now = clock_monotonic_ns()) < until) {
		if (woken || now >= check_ns) {
			if (agent_drop_privileges(false)) {
				log_error("%s; profiling is off in this process", failure());
				return false;
			}
			check_ns = privileges_due_ns();
		}
		woken = wake_wait(&shared->agent.wake, earlier_ns(until, check_ns));
		log_write_queued();
	}
	return atomic_compare_exchange_strong(&shared->agent.state, &delayed, AGENT_STARTING);
}

static void agent_profile(struct session *session, const struct agent_parts *parts)
{
	static struct live live;
	uint64_t stalls_ns = OPTION_OFF;
	int err = agent_drop_privileges(true);

	signal_share_measure();
	if (!err)
		err = session_start(session);
	if (err) {
		log_error("%s; profiling is off in this process", failure());
		return;
	}
	/* At the program's priority, as all that came before: a program with as many busy threads as it has processors would
	 * let a nicer one begin only after a good while, and not be profiled until then. */
	stalls_apply_setting(session, &stalls_ns);
	atomic_store(&shared->agent.engine_is_served, session->with.engine->service != NULL);
	atomic_store(&shared->agent.running_engine, session->with.engine);
	live_open(&live, &shared->agent.wake);
	parts->started();
	atomic_fetch_add(&shared->agent.state,
			 AGENT_RUNNING - AGENT_STARTING); /* an AGENT_STOP stays */
	log_info("profiling %s with %s %s", session->executable, session->with.engine->name,
		 session->engine_version);
	if (session->with.endpoint)
		session->with.endpoint->open(&live, session->config);
	err = agent_loop(session, &live, &stalls_ns);
	live_cancel(&live);
	if (session->with.endpoint)
		session->with.endpoint->close(&live);
	if (stalls_ns != OPTION_OFF)
		session->with.stalls->close();
	signal_share_measure(); /* a program may be short */
	atomic_store(&shared->agent.running_engine, NULL);
	if (!err)
		err = agent_drop_privileges(true);
	if (err)
		log_error("%s; profiling is off in this process from now on", failure());
	if (privileges_follow(false))
		engine_command(session->with.engine, "stop"); /* it may have a thread, too */
	else if (!err)
		session_end(session, atomic_load(&shared->agent.stop_by_ns));
	if (atomic_load(&shared->agent.is_leaving)) {
		if (session->with.engine->leave)
			session->with.engine->leave();
		parts->left();
	}
}

void agent_run(const struct agent_parts *parts)
{
	struct session session = { .config = parts->config };
	bool alone;

	if (agent_wait_start_delay(shared->agent.due_ns) && !last_thread_is_gone() &&
	    !parts->prepare(&session.with, session.config, &shared->agent.wake))
		agent_profile(&session, parts);
	session_close(&session);
	log_write_queued();
	alone = !agent_stop_is_requested() && last_thread_is_gone();
	agent_set_ended();
	if (alone)
		last_thread_end_process();
}
