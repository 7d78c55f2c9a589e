/* Requests of the program's threads to the agent thread, and the waits for their completion. */
#include "core/agent.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "core/agent_phase.h"
#include "core/clock.h"
#include "core/futex.h"
#include "core/kernel.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/shared.h"
#include "core/system.h"

/* Poll interval while another thread is about to stop the agent. */
#define STOP_POLL_NS 1000000u

/* Poll interval while other own threads drop credentials. */
#define FOLLOWED_POLL_NS 50000

/* Longest wait for these threads: one may be opening a connection, and a program may drop its capabilities one by
 * one. */
#define FOLLOWED_WAIT_NS 100000000u

/* The program's drops wait so much longer in all: on a busy machine these threads only lack a processor. */
#define FOLLOWED_EXTRA_NS 2000000000u

static uint32_t agent_get_phase(void)
{
	return atomic_load(&shared->agent.state) & ~AGENT_STOP;
}

static void (*on_ended)(void);

int agent_start(uint64_t due_ns, int (*begin)(void), void (*ended)(void))
{
	uint32_t none = AGENT_NONE;
	int err;

	if (!atomic_compare_exchange_strong(&shared->agent.state, &none, AGENT_DELAYED))
		return -EALREADY;
	log_queue_for(&shared->agent.wake);
	shared->agent.due_ns = due_ns;
	on_ended = ended;
	atomic_store(&shared->agent.is_paused, false);
	atomic_store(&shared->agent.is_leaving, false);
	privileges_restart();
	err = begin();
	if (err) {
		ended();
		log_forget();
		atomic_store(&shared->agent.state, AGENT_NONE);
	}
	return err;
}

bool agent_stop_is_requested(void)
{
	return atomic_load(&shared->agent.state) & AGENT_STOP;
}

/* The requester reads the state after it counts its request. This runs after the state has changed. So either the
 * requester sees the new state, or its request is completed here. The futex word changes in both cases, so no wake
 * is lost. */
static void requests_complete(_Atomic uint32_t *done, const _Atomic uint32_t *requested)
{
	uint32_t asked = atomic_load(requested);

	if (atomic_exchange(done, asked) != asked)
		futex_wake(done);
}

static void setting_refuse(void)
{
	uint32_t asked = SETTING_ASKED;

	if (atomic_load(&shared->agent.setting.state) != SETTING_ASKED)
		return;
	shared->agent.setting.err = -ESRCH;
	if (atomic_compare_exchange_strong(&shared->agent.setting.state, &asked, SETTING_ANSWERED))
		futex_wake(&shared->agent.setting.state);
}

void agent_set_ended(void)
{
	on_ended();
	log_forget();
	own_thread_agent_ends();
	atomic_store(&shared->agent.state, AGENT_NONE);
	futex_wake(&shared->agent.state);
	setting_refuse();
	requests_complete(&shared->agent.flushes_done, &shared->agent.flushes_asked);
	requests_complete(&shared->agent.follows_done, &shared->agent.follows_asked);
}

void agent_failed(int err)
{
	atomic_store(&shared->agent.failure, err);
	agent_set_ended();
}

int agent_failure(void)
{
	return atomic_exchange(&shared->agent.failure, 0);
}

bool agent_exists(void)
{
	return atomic_load(&shared->agent.state) != AGENT_NONE;
}

bool agent_is_delayed(void)
{
	return atomic_fetch_or(&shared->agent.state, 0) == AGENT_DELAYED;
}

bool agent_is_running(void)
{
	return agent_get_phase() == AGENT_RUNNING && !atomic_load(&shared->agent.is_paused);
}

bool agent_resume(void)
{
	bool paused = true;

	if (agent_get_phase() != AGENT_RUNNING ||
	    !atomic_compare_exchange_strong(&shared->agent.is_paused, &paused, false))
		return false;
	wake_up(&shared->agent.wake);
	return true;
}

const struct engine *agent_engine(void)
{
	return atomic_load(&shared->agent.running_engine);
}

bool agent_serves_engine(void)
{
	return agent_engine() && atomic_load(&shared->agent.engine_is_served);
}

static uint32_t agent_request_flush(void)
{
	uint32_t number = atomic_fetch_add(&shared->agent.flushes_asked, 1) + 1;

	wake_up(&shared->agent.wake);
	return number;
}

int agent_flush(uint64_t timeout_ns)
{
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	uint32_t number, done;
	int err = 0;

	if (!agent_is_running() || own_thread_is())
		return -ESRCH;
	number = agent_request_flush();
	/* The agent may end before it sees the request. */
	while (err != -ETIMEDOUT && agent_get_phase() != AGENT_NONE &&
	       (int32_t)(number - (done = atomic_load(&shared->agent.flushes_done))) > 0)
		err = futex_wait_until(&shared->agent.flushes_done, done, deadline);
	return err == -ETIMEDOUT ? err : 0;
}

void agent_request_report(void)
{
	agent_request_flush();
}

/* Time that the program has waited in agent_before_exit(): it counts as a part of the wait at its end. */
static _Atomic uint64_t exit_waited_ns;

static uint64_t time_left_ns(uint64_t timeout_ns)
{
	uint64_t waited_ns = atomic_load(&exit_waited_ns);

	return timeout_ns > waited_ns ? timeout_ns - waited_ns : 0;
}

int agent_stop(uint64_t timeout_ns)
{
	uint32_t state = atomic_load(&shared->agent.state);
	int saved = errno, err = 0;
	uint64_t deadline;

	if (state == AGENT_NONE || own_thread_is())
		return -ESRCH;
	deadline = clock_monotonic_ns() + time_left_ns(timeout_ns);
	atomic_store(&shared->agent.stop_by_ns, deadline);
	while (!atomic_compare_exchange_weak(&shared->agent.state, &state, state | AGENT_STOP))
		if (state == AGENT_NONE)
			return 0; /* the agent has ended by itself */
	wake_up(&shared->agent.wake);
	if ((state & ~AGENT_STOP) == AGENT_DELAYED)
		return 0; /* the thread will touch nothing any more */
	while (err != -ETIMEDOUT && (state = atomic_load(&shared->agent.state)) & AGENT_STOP)
		err = futex_wait_until(&shared->agent.state, state, deadline);
	errno = saved;
	return err == -ETIMEDOUT ? err : 0;
}

int agent_leave(uint64_t timeout_ns)
{
	atomic_store(&shared->agent.is_leaving, true);
	return agent_stop(timeout_ns);
}

void agent_await_stop(uint64_t timeout_ns)
{
	uint64_t now = clock_monotonic_ns(), by = now + timeout_ns, stop_by;
	uint32_t state;

	while (now < by && !own_thread_is()) {
		state = atomic_load(&shared->agent.state);
		if (state == AGENT_NONE || state == (AGENT_DELAYED | AGENT_STOP))
			return;
		stop_by = atomic_load(&shared->agent.stop_by_ns);
		if (state & AGENT_STOP && stop_by < by)
			by = stop_by;
		/* AGENT_STOP is set without a wake, so poll for it. */
		futex_wait_until(&shared->agent.state, state,
				 state & AGENT_STOP ? by : now + STOP_POLL_NS);
		now = clock_monotonic_ns();
	}
}

/* One request at a time. */
static int setting_claim(uint64_t deadline)
{
	uint32_t state = SETTING_NONE;

	while (!atomic_compare_exchange_strong(&shared->agent.setting.state, &state,
					       SETTING_TAKEN)) {
		if (agent_get_phase() == AGENT_NONE)
			return -ESRCH;
		if (futex_wait_until(&shared->agent.setting.state, state, deadline) == -ETIMEDOUT)
			return -ETIMEDOUT;
		state = SETTING_NONE;
	}
	return 0;
}

/* A request that the agent thread processes already is waited for without a limit. */
static int setting_wait(uint64_t deadline)
{
	uint32_t state, asked = SETTING_ASKED;

	while ((state = atomic_load(&shared->agent.setting.state)) != SETTING_ANSWERED) {
		if (agent_get_phase() == AGENT_NONE)
			return -ESRCH;
		if (futex_wait_until(&shared->agent.setting.state, state, deadline) != -ETIMEDOUT)
			continue;
		if (atomic_compare_exchange_strong(&shared->agent.setting.state, &asked,
						   SETTING_TAKEN))
			return -ETIMEDOUT;
		asked = SETTING_ASKED;
		deadline = UINT64_MAX;
	}
	return shared->agent.setting.err;
}

int agent_set(const char *name, const char *value, uint64_t timeout_ns)
{
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	int err;

	if (!name || !value || strlen(name) >= SETTING_NAME_MAX)
		return -EINVAL;
	if (strlen(value) >= SETTING_VALUE_MAX)
		return -E2BIG;
	if (agent_get_phase() != AGENT_RUNNING || own_thread_is())
		return -ESRCH;
	err = setting_claim(deadline);
	if (err)
		return err;
	memcpy(shared->agent.setting.name, name, strlen(name) + 1);
	memcpy(shared->agent.setting.value, value, strlen(value) + 1);
	atomic_store(&shared->agent.setting.state, SETTING_ASKED);
	wake_up(&shared->agent.wake);
	err = setting_wait(deadline);
	atomic_store(&shared->agent.setting.state, SETTING_NONE);
	futex_wake(&shared->agent.setting.state);
	return err;
}

static void agent_await_followers(uint32_t change)
{
	static _Atomic uint64_t extra_ns = FOLLOWED_EXTRA_NS;
	uint64_t began_ns = clock_monotonic_ns(), extra = atomic_load(&extra_ns), waited_ns;

	while (!privileges_are_followed(change) &&
	       clock_monotonic_ns() - began_ns < FOLLOWED_WAIT_NS + extra)
		system_sleep(FOLLOWED_POLL_NS);
	waited_ns = clock_monotonic_ns() - began_ns;
	if (waited_ns > FOLLOWED_WAIT_NS)
		atomic_store(&extra_ns, waited_ns - FOLLOWED_WAIT_NS < extra
						? extra - (waited_ns - FOLLOWED_WAIT_NS)
						: 0);
}

void agent_follow(uint32_t change, uint64_t timeout_ns)
{
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	uint32_t number, done;
	int saved = errno, err = 0;

	if (agent_get_phase() == AGENT_NONE || own_thread_is())
		return;
	number = atomic_fetch_add(&shared->agent.follows_asked, 1) + 1;
	wake_up(&shared->agent.wake);
	while (err != -ETIMEDOUT && agent_get_phase() != AGENT_NONE &&
	       (int32_t)(number - (done = atomic_load(&shared->agent.follows_done))) > 0)
		err = futex_wait_until(&shared->agent.follows_done, done, deadline);
	agent_await_followers(change);
	errno = saved;
}

void agent_before_exit(uint64_t timeout_ns)
{
	static const struct timespec a_while = { .tv_nsec = 500000 };
	uint64_t began_ns = clock_monotonic_ns();
	uint32_t delayed = AGENT_DELAYED;

	atomic_compare_exchange_strong(&shared->agent.state, &delayed, AGENT_DELAYED | AGENT_STOP);
	while (agent_get_phase() == AGENT_STARTING && clock_monotonic_ns() < began_ns + timeout_ns)
		kernel_call4(SYS_nanosleep, (long)&a_while, 0, 0, 0);
	atomic_store(&exit_waited_ns, clock_monotonic_ns() - began_ns);
}

void agent_forget(void)
{
	atomic_store(&shared->agent.running_engine, NULL);
	atomic_store(&shared->agent.setting.state, SETTING_NONE);
	atomic_store(&shared->agent.memory_bytes, 0);
	atomic_store(&shared->memory.captures, 0);
	atomic_store(&exit_waited_ns, 0);
	atomic_store(&shared->agent.state, AGENT_NONE);
	atomic_store(&shared->agent.wake.pending, 0);
	atomic_store(&shared->agent.failure, 0);
	atomic_store(&shared->agent.reports_waiting, 0);
	atomic_store(&shared->agent.is_recording, false);
	atomic_store(&shared->agent.flushes_done, atomic_load(&shared->agent.flushes_asked));
	atomic_store(&shared->agent.follows_done, atomic_load(&shared->agent.follows_asked));
	log_forget();
	own_thread_forget();
	privileges_forget();
}
