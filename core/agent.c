/* How threads of the program ask the agent thread for something, and wait for it. */
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

/* Between two looks at an agent that is about to be asked to stop. */
#define STOP_POLL_NS 1000000u

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
	atomic_store(&shared->agent.paused, false);
	atomic_store(&shared->agent.is_leaving, false);
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

void agent_set_ended(void)
{
	uint32_t asked = atomic_load(&shared->agent.flushes_asked);

	on_ended();
	log_forget();
	own_thread_agent_ends();
	atomic_store(&shared->agent.state, AGENT_NONE);
	futex_wake(&shared->agent.state);
	futex_wake(&shared->agent.setting.state);
	if (atomic_exchange(&shared->agent.flushes_done, asked) != asked)
		futex_wake(&shared->agent.flushes_done);
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

bool agent_is_running(void)
{
	return agent_get_phase() == AGENT_RUNNING && !atomic_load(&shared->agent.paused);
}

bool agent_resume(void)
{
	bool paused = true;

	if (agent_get_phase() != AGENT_RUNNING ||
	    !atomic_compare_exchange_strong(&shared->agent.paused, &paused, false))
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
	/* The agent may end before it sees the question. */
	while (err != -ETIMEDOUT && agent_get_phase() != AGENT_NONE &&
	       (int32_t)(number - (done = atomic_load(&shared->agent.flushes_done))) > 0)
		err = futex_wait_until(&shared->agent.flushes_done, done, deadline);
	return err == -ETIMEDOUT ? err : 0;
}

void agent_request_report(void)
{
	agent_request_flush();
}

int agent_stop(uint64_t timeout_ns)
{
	uint32_t state = atomic_load(&shared->agent.state);
	int saved = errno, err = 0;
	uint64_t deadline;

	if (state == AGENT_NONE || own_thread_is())
		return -ESRCH;
	deadline = clock_monotonic_ns() + timeout_ns;
	atomic_store(&shared->agent.stop_by_ns, deadline);
	while (!atomic_compare_exchange_weak(&shared->agent.state, &state, state | AGENT_STOP))
		if (state == AGENT_NONE)
			return 0; /* it has ended by itself meanwhile */
	wake_up(&shared->agent.wake);
	if (state == AGENT_DELAYED)
		return 0; /* as good as ended */
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
		/* (Nobody tells that it is asked to stop.) */
		futex_wait_until(&shared->agent.state, state,
				 state & AGENT_STOP ? by : now + STOP_POLL_NS);
		now = clock_monotonic_ns();
	}
}

/* One asks at a time. */
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

/* What the agent thread has begun with is waited for: it is at it. */
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

void agent_follow(uint64_t timeout_ns)
{
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	uint32_t number, done;
	int saved = errno, err = 0;

	if (agent_get_phase() == AGENT_NONE || own_thread_is())
		return;
	privileges_changed();
	number = atomic_fetch_add(&shared->agent.follows_asked, 1) + 1;
	wake_up(&shared->agent.wake);
	while (err != -ETIMEDOUT && agent_get_phase() != AGENT_NONE &&
	       (int32_t)(number - (done = atomic_load(&shared->agent.follows_done))) > 0)
		err = futex_wait_until(&shared->agent.follows_done, done, deadline);
	errno = saved;
}

void agent_before_exit(uint64_t timeout_ns)
{
	static const struct timespec a_while = { .tv_nsec = 500000 };
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	uint32_t delayed = AGENT_DELAYED;

	atomic_compare_exchange_strong(&shared->agent.state, &delayed, AGENT_DELAYED | AGENT_STOP);
	while (agent_get_phase() == AGENT_STARTING && clock_monotonic_ns() < deadline)
		kernel_call4(SYS_nanosleep, (long)&a_while, 0, 0, 0);
}

void agent_forget(void)
{
	atomic_store(&shared->agent.running_engine, NULL);
	atomic_store(&shared->agent.setting.state, SETTING_NONE);
	atomic_store(&shared->agent.memory_bytes, 0);
	atomic_store(&shared->agent.state, AGENT_NONE);
	atomic_store(&shared->agent.wake.pending, 0);
	atomic_store(&shared->agent.failure, 0);
	atomic_store(&shared->agent.flushes_done, atomic_load(&shared->agent.flushes_asked));
	atomic_store(&shared->agent.follows_done, atomic_load(&shared->agent.follows_asked));
	log_forget();
	own_thread_forget();
	privileges_forget();
}
