/* The agent thread's life: when it starts, reports and ends, and how other threads ask for that. */
#include "core/agent.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/engine_command.h"
#include "core/failure.h"
#include "core/futex.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/random.h"
#include "core/session.h"
#include "core/signal_share.h"

enum phase {
	AGENT_NONE,    /* no thread, or one that touches nothing any more */
	AGENT_DELAYED, /* the start delay is running; nothing was touched yet */
	AGENT_STARTING,
	AGENT_RUNNING,
};

/* How often it is seen how many signals may pend still. */
#define SHARE_LOOK_NS 1000000000u

/* In the state beside a phase: the thread is to end. */
#define STOP 0x100u

static struct {
	struct agent_parts parts;
	struct wake wake;
	_Atomic uint32_t state; /* enum phase, STOP; a futex for those who wait for an end */
	_Atomic uint32_t flushes_asked; /* so often, since the process began */
	_Atomic uint32_t flushes_done;  /* of these; a futex for those who wait */
	_Atomic uint32_t follows_asked; /* likewise, for privileges to be given up */
	_Atomic uint32_t follows_done;
	_Atomic uint64_t stop_by_ns;
	const struct engine *_Atomic running_engine;
} agent;

/* What was asked for up to number ASKED is done. */
static void answer_flushes(uint32_t asked)
{
	if (atomic_exchange(&agent.flushes_done, asked) != asked)
		futex_wake(&agent.flushes_done);
}

static uint32_t phase(void)
{
	return atomic_load(&agent.state) & ~STOP;
}

static bool stop_is_asked(void)
{
	return atomic_load(&agent.state) & STOP;
}

/* A fleet that was started at one moment must not send at one moment: where reports are sent,
 * the first interval is shorter, by up to a half, and all later ones keep that beat. */
static uint64_t first_interval(const struct config *config)
{
	uint64_t interval = config->reporting_interval_ns;

	return config->s3_bucket ? interval - random_below(interval / 2 + 1) : interval;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns 0, or -errno as failed() has it: this thread must not do anything any more. */
static int give_up_what_the_program_has(bool at_once)
{
	uint32_t asked = atomic_load(&agent.follows_asked);
	int err = privileges_follow(at_once);

	if (atomic_exchange(&agent.follows_done, asked) != asked)
		futex_wake(&agent.follows_done);
	return err ? failed(err, "cannot give up the privileges that the program gave up: %s",
			    strerror(-err))
		   : 0;
}

/* Sample and report until asked to stop, or until the engine fails. */
static int loop(struct session *session)
{
	uint64_t interval = session->config->reporting_interval_ns, now, due_ns;
	uint64_t look_ns = 0;
	uint64_t tick_ns = clock_monotonic_ns() + first_interval(session->config);
	uint32_t asked;
	int err = 0;

	while (!err && !stop_is_asked()) {
		log_say_kept();
		err = give_up_what_the_program_has(false);
		if (err)
			break;
		now = clock_monotonic_ns();
		if (now >= look_ns) {
			signal_share_look();
			look_ns = now + SHARE_LOOK_NS;
		}
		due_ns = session_service(session, now);
		/* One that is asked for while a report is on its way is for the next. */
		asked = atomic_load(&agent.flushes_asked);
		if (now >= tick_ns || asked != atomic_load(&agent.flushes_done)) {
			err = give_up_what_the_program_has(true);
			if (!err)
				err = session_report(session);
			/* On the beat; but a beat that was missed is not made up for. */
			while (tick_ns <= now)
				tick_ns += interval;
			answer_flushes(asked);
			continue;
		}
		due_ns = sooner(due_ns, privileges_due_ns());
		wake_wait(&agent.wake, sooner(due_ns, tick_ns));
	}
	return err;
}

/* False when a stop comes first: nothing was touched, and nothing is. */
static bool wait_out_delay(uint64_t delay_ns)
{
	uint64_t now = clock_monotonic_ns(), until = now + delay_ns;
	uint64_t look_ns = now + PRIVILEGES_LOOK_NS;
	uint32_t delayed = AGENT_DELAYED;
	bool woken = false;

	while (!stop_is_asked() && (now = clock_monotonic_ns()) < until) {
		if (woken || now >= look_ns) {
			if (give_up_what_the_program_has(false)) {
				log_error("%s; profiling is off in this process", failure());
				return false;
			}
			look_ns = privileges_due_ns();
		}
		woken = wake_wait(&agent.wake, sooner(until, look_ns));
		log_say_kept();
	}
	return atomic_compare_exchange_strong(&agent.state, &delayed, AGENT_STARTING);
}

static void profile(struct session *session)
{
	int err = give_up_what_the_program_has(true);

	signal_share_look();
	if (!err)
		err = session_start(session);
	if (err) {
		log_error("%s; profiling is off in this process", failure());
		return;
	}
	/* Not before: a program with as many busy threads as it has processors would let a nicer one
	 * begin only after a good while, and not be profiled until then. */
	own_thread_be_nice();
	atomic_store(&agent.running_engine, session->with.engine);
	agent.parts.started();
	atomic_fetch_add(&agent.state, AGENT_RUNNING - AGENT_STARTING); /* a STOP stays */
	log_info("profiling %s with %s %s", session->executable, session->with.engine->name,
		 session->engine_version);
	err = loop(session);
	signal_share_look(); /* a program may be short */
	atomic_store(&agent.running_engine, NULL);
	if (!err)
		err = give_up_what_the_program_has(true);
	if (err)
		log_error("%s; profiling is off in this process from now on", failure());
	if (privileges_follow(false))
		engine_command(session->with.engine, "stop"); /* it may have a thread, too */
	else if (!err)
		session_end(session, atomic_load(&agent.stop_by_ns));
}

static void *run_agent(void *unused)
{
	struct session session = { .config = agent.parts.config };

	(void)unused;
	if (wait_out_delay(session.config->start_delay_ns) &&
	    !agent.parts.prepare(&session.with, session.config, &agent.wake))
		profile(&session);
	session_close(&session);
	log_say_kept();
	log_forget();
	atomic_store(&agent.state, AGENT_NONE);
	futex_wake(&agent.state);
	answer_flushes(atomic_load(&agent.flushes_asked));
	return NULL;
}

int agent_start(const struct agent_parts *parts)
{
	uint32_t none = AGENT_NONE;
	int err;

	if (!atomic_compare_exchange_strong(&agent.state, &none, AGENT_DELAYED))
		return -EALREADY;
	agent.parts = *parts;
	log_keep_for(&agent.wake);
	err = own_thread_start("asprof-agent", run_agent, NULL);
	if (err) {
		log_forget();
		atomic_store(&agent.state, AGENT_NONE);
	}
	return err;
}

bool agent_running(void)
{
	return phase() == AGENT_RUNNING;
}

const struct engine *agent_engine(void)
{
	return atomic_load(&agent.running_engine);
}

static uint32_t ask_for_flush(void)
{
	uint32_t number = atomic_fetch_add(&agent.flushes_asked, 1) + 1;

	wake_up(&agent.wake);
	return number;
}

int agent_flush(uint64_t timeout_ns)
{
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	uint32_t number, done;
	int err = 0;

	if (!agent_running() || own_thread_is())
		return -ESRCH;
	number = ask_for_flush();
	/* The agent may end before it sees the question. */
	while (err != -ETIMEDOUT && phase() != AGENT_NONE &&
	       (int32_t)(number - (done = atomic_load(&agent.flushes_done))) > 0)
		err = futex_wait_until(&agent.flushes_done, done, deadline);
	return err == -ETIMEDOUT ? err : 0;
}

void agent_report_now(void)
{
	ask_for_flush();
}

int agent_stop(uint64_t timeout_ns)
{
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	uint32_t state = atomic_load(&agent.state);
	int saved = errno, err = 0;

	if (state == AGENT_NONE || own_thread_is())
		return -ESRCH;
	atomic_store(&agent.stop_by_ns, deadline);
	while (!atomic_compare_exchange_weak(&agent.state, &state, state | STOP))
		if (state == AGENT_NONE)
			return 0; /* it has ended by itself meanwhile */
	wake_up(&agent.wake);
	if (state == AGENT_DELAYED)
		return 0; /* as good as ended */
	while (err != -ETIMEDOUT && (state = atomic_load(&agent.state)) & STOP)
		err = futex_wait_until(&agent.state, state, deadline);
	errno = saved;
	return err == -ETIMEDOUT ? err : 0;
}

void agent_follow(uint64_t timeout_ns)
{
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	uint32_t number, done;
	int saved = errno, err = 0;

	if (phase() == AGENT_NONE || own_thread_is())
		return;
	privileges_changed();
	number = atomic_fetch_add(&agent.follows_asked, 1) + 1;
	wake_up(&agent.wake);
	while (err != -ETIMEDOUT && phase() != AGENT_NONE &&
	       (int32_t)(number - (done = atomic_load(&agent.follows_done))) > 0)
		err = futex_wait_until(&agent.follows_done, done, deadline);
	errno = saved;
}

void agent_before_exit(uint64_t timeout_ns)
{
	static const struct timespec a_while = { .tv_nsec = 500000 };
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	uint32_t delayed = AGENT_DELAYED;

	atomic_compare_exchange_strong(&agent.state, &delayed, AGENT_DELAYED | STOP);
	while (phase() == AGENT_STARTING && clock_monotonic_ns() < deadline)
		nanosleep(&a_while, NULL);
}

void agent_forget(void)
{
	atomic_store(&agent.running_engine, NULL);
	atomic_store(&agent.state, AGENT_NONE);
	atomic_store(&agent.flushes_done, atomic_load(&agent.flushes_asked));
	atomic_store(&agent.follows_done, atomic_load(&agent.follows_asked));
	engine_answer_forget();
	log_forget();
	own_thread_forget();
	privileges_forget();
}
