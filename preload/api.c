/* The exported C interface, asprof_agent.h. */
#include "preload/asprof_agent.h"

#include <errno.h>
#include <stdbool.h>

#include "core/agent.h"
#include "core/clock.h"
#include "core/agent/engine.h"
#include "engine/context/thread_labels.h"
#include "preload/process_agent.h"

#define POLLCATCH_EVENT "tokio.PollcatchV1"

/* The turn that is under way on this thread. */
static __thread struct {
	struct asprof_thread_local_data *data;
	uint64_t samples_before, began;
	bool open;
} turn;

static int result_to_errno(int err)
{
	if (!err)
		return 0;
	errno = -err;
	return -1;
}

int asprof_agent_start(void)
{
	int err = process_start_agent();

	return result_to_errno(err == -EALREADY && agent_resume() ? 0 : err);
}

int asprof_agent_stop(void)
{
	return result_to_errno(process_stop_agent());
}

int asprof_agent_flush(void)
{
	return result_to_errno(agent_flush(process_config()->exit_timeout_ns));
}

int asprof_agent_set(const char *name, const char *value)
{
	return result_to_errno(agent_set(name, value, process_config()->exit_timeout_ns));
}

int asprof_agent_running(void)
{
	return agent_is_running();
}

const char *asprof_agent_version(void)
{
	return ASPROF_AGENT_VERSION;
}

int asprof_agent_label(const char *key, const char *value)
{
	return result_to_errno(thread_labels_set(key, value));
}

void asprof_agent_poll_begin(void)
{
	const struct engine *engine = agent_engine();

	turn.open = false;
	if (!engine || !engine->get_thread_local_data)
		return;
	/* Once for each thread: neither engine moves it. */
	if (!turn.data)
		turn.data = engine->get_thread_local_data();
	if (!turn.data)
		return;
	turn.samples_before = turn.data->sample_counter;
	turn.began = clock_ticks();
	turn.open = true;
}

static _Atomic asprof_jfr_event_key known_key = -1;

/* Both ends in ticks, little-endian, as the pollcatch of async-profiler's Rust agent has it. */
static void poll_emit(const struct engine *engine, uint64_t began, uint64_t ended)
{
	asprof_jfr_event_key key = known_key;
	uint64_t ends[2] = { began, ended };

	if (!engine->register_jfr_event || !engine->emit_jfr_event)
		return;
	if (key < 0)
		known_key = key = engine->register_jfr_event(POLLCATCH_EVENT);
	if (key >= 0)
		engine->emit_jfr_event(key, (const uint8_t *)ends, sizeof(ends));
}

/* The turn took so long that a visit for the wall clock fell into it. async-profiler does not move the
 * counter of a thread that it only counts, as that still sleeps. (What is taken for a microsecond is
 * half of one at the least: a turn too many does no harm.) */
static bool poll_is_long(uint64_t now)
{
	uint64_t interval_ns = process_config()->wall_interval_ns;

	return interval_ns != OPTION_OFF &&
	       (now - turn.began) >> arch_microsecond_shift() >= interval_ns / 1000;
}

/* Another engine has counters and keys of its own. */
void api_forget(void)
{
	turn.data = NULL;
	turn.open = false;
	known_key = -1;
}

void asprof_agent_poll_end(void)
{
	const struct engine *engine;

	if (!turn.open)
		return;
	turn.open = false;
	if (turn.data->sample_counter == turn.samples_before && !poll_is_long(clock_ticks()))
		return;
	engine = agent_engine();
	if (engine)
		poll_emit(engine, turn.began, clock_ticks());
}
