/* Agent thread: its start delay, its main loop and its end. */
#include "core/agent/agent_thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/agent.h"
#include "core/agent_phase.h"
#include "core/clock.h"
#include "core/agent/failure.h"
#include "core/agent/intervals.h"
#include "core/agent/files_removed.h"
#include "core/agent/waiters.h"
#include "core/agent/last_thread.h"
#include "core/agent/live.h"
#include "core/futex.h"
#include "core/log.h"
#include "core/memory/account.h"
#include "core/agent/lost_reports.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/agent/session.h"
#include "core/shared.h"
#include "core/signal_share.h"

/* Interval of the checks for pending signals and for the program's end. */
#define CHECK_NS 1000000000u

/* Mark flushes up to number ASKED as completed. */
static void flushes_complete(uint32_t asked)
{
	if (atomic_exchange(&shared->agent.flushes_done, asked) != asked)
		futex_wake(&shared->agent.flushes_done);
}

static uint64_t earlier_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Drop privileges that the program has dropped. Returns 0, or -errno of failed(): then this thread must do nothing
 * more. */
static int agent_drop_privileges(bool at_once)
{
	uint32_t asked = atomic_load(&shared->agent.follows_asked);
	int err = privileges_follow(at_once);

	waiters_wake();
	if (atomic_exchange(&shared->agent.follows_done, asked) != asked)
		futex_wake(&shared->agent.follows_done);
	return err ? failed(err, "cannot drop the privileges that the program dropped: %s",
			    strerror(-err))
		   : 0;
}

/* Apply the current stall setting; *APPLIED_NS is the applied one. */
static void stalls_apply_setting(const struct session *session, uint64_t *applied_ns)
{
	const struct stall_watch *stalls = session->with.stalls;
	uint64_t wanted = session->config->stalls_ns;

	if (!stalls || session->state == SESSION_PAUSED || wanted == *applied_ns)
		return;
	if (wanted == OPTION_OFF) {
		stalls->close();
	} else if (*applied_ns != OPTION_OFF) {
		stalls->set(wanted);
	} else {
		stalls->open(wanted, session->with.engine->service != NULL);
	}
	*applied_ns = wanted;
}

/* Publish to the program's threads whether an engine samples. */
static void agent_publish_pause(const struct session *session, bool paused)
{
	atomic_store(&shared->agent.running_engine, paused ? NULL : session->with.engine);
	atomic_store(&shared->agent.is_paused, paused);
	if (session->with.stalls)
		session->with.stalls->pause(paused);
}

/* Serve a setting request of a program thread, like one of the live endpoint. A withdrawn request is not served. */
static int setting_serve(struct session *session)
{
	static struct live_call call;
	uint32_t asked = SETTING_ASKED;
	int err;

	if (!atomic_compare_exchange_strong(&shared->agent.setting.state, &asked, SETTING_BUSY))
		return 0;
	call = (struct live_call){ .request = LIVE_OPTIONS, .option_count = 1 };
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

/* Serve requests to the session, and end a pause. */
static int requests_serve(struct session *session, struct live *live)
{
	struct live_call *call = live_get_pending(live);
	bool was_paused = session->state == SESSION_PAUSED;
	int err = setting_serve(session);

	if (!err && call) {
		if (call->request == LIVE_STOP)
			agent_publish_pause(session,
					    true); /* as at the end: before the engine stops */
		err = session_answer(session, call);
		if ((session->state == SESSION_PAUSED) != was_paused || call->request == LIVE_STOP)
			agent_publish_pause(session, session->state == SESSION_PAUSED);
		live_complete(live);
	} else if (was_paused && !atomic_load(&shared->agent.is_paused)) {
		if (session_resume(session))
			log_error("%s; profiling stays off", failure());
		agent_publish_pause(session, session->state == SESSION_PAUSED);
	}
	return err;
}

/* Sample and report until a stop is requested or the engine fails. *STALLS_NS is the applied stall setting. */
static int agent_loop(struct session *session, struct live *live, uint64_t *stalls_ns)
{
	uint64_t interval = session->config->reporting_interval_ns, now, due_ns;
	uint64_t check_ns = 0, tick_ns = clock_monotonic_ns() + interval;
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
			signal_share_measure();
			memory_measure();
			if (last_thread_is_gone()) {
				atomic_store(&shared->agent.stop_by_ns,
					     now + session->config->exit_timeout_ns);
				break;
			}
			check_ns = now + CHECK_NS;
		}
		due_ns = earlier_ns(session_service(session, now), intervals_expire(session, now));
		due_ns = earlier_ns(due_ns, intervals_keep_budget(session, now));
		/* A flush that is requested during a report is for the next one. */
		asked = atomic_load(&shared->agent.flushes_asked);
		if (now >= tick_ns || asked != atomic_load(&shared->agent.flushes_done) ||
		    session_check_size(session, now)) {
			err = agent_drop_privileges(true);
			if (!err)
				err = session_report(session);
			/* Keep the schedule; missed reports are not repeated. */
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

/* Wait for the end of the start delay. False when a stop is requested first: then nothing was touched, or will be. */
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
	memory_account_open(session->config->memory_bytes, (size_t)sysconf(_SC_PAGESIZE));
	if (!err)
		err = session_start(session);
	if (err && files_are_removed()) {
		log_info("%s; the program has given up all files", failure());
		return;
	}
	if (err == -ECANCELED) {
		log_info("%s; the program ends", failure());
		return;
	}
	if (err) {
		log_error("%s; profiling is off in this process", failure());
		return;
	}
	/* The start runs at the program's priority. In a program with as many busy threads as processors, a lower
	 * priority would delay profiling for a long time. */
	lost_reports_set_recording(true);
	stalls_apply_setting(session, &stalls_ns);
	atomic_store(&shared->agent.engine_is_served, session->with.engine->service != NULL);
	atomic_store(&shared->agent.running_engine, session->with.engine);
	live_open(&live, &shared->agent.wake);
	parts->started();
	atomic_fetch_add(&shared->agent.state,
			 AGENT_RUNNING - AGENT_STARTING); /* keeps AGENT_STOP */
	log_info("profiling %s with %s %s", session->executable, session->with.engine->name,
		 session->engine_version);
	if (session->with.endpoint)
		session->with.endpoint->open(&live, session->config);
	err = agent_loop(session, &live, &stalls_ns);
	live_cancel(&live);
	session_forget_captures(session);
	if (session->with.endpoint)
		session->with.endpoint->close(&live);
	if (stalls_ns != OPTION_OFF)
		session->with.stalls->close();
	signal_share_measure(); /* the program may have been short */
	atomic_store(&shared->agent.running_engine, NULL);
	if (!err)
		err = agent_drop_privileges(true);
	if (err)
		log_error("%s; profiling is off in this process from now on", failure());
	if (privileges_follow(false))
		session->with.engine->stop(); /* it may have its own thread */
	else if (!err)
		session_end(session, atomic_load(&shared->agent.stop_by_ns));
	lost_reports_set_recording(false);
	if (atomic_load(&shared->agent.is_leaving)) {
		if (session->with.engine->leave)
			session->with.engine->leave();
		parts->left();
	}
}

void agent_run(const struct agent_parts *parts)
{
	struct session session = { .config = parts->config, .settings = parts->config };
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
