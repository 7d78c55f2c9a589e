/* The exported C interface, asprof_agent.h. */
#include "preload/asprof_agent.h"

#include <errno.h>
#include <stdbool.h>

#include "core/agent.h"
#include "core/clock.h"
#include "core/agent/engine.h"
#include "engine/context/thread_labels.h"
#include "preload/process_agent.h"

/* The current poll of this thread. */
static __thread struct {
	struct asprof_thread_local_data *data;
	uint64_t samples_before, began;
	bool open;
} poll;

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

static struct asprof_thread_local_data *find_counter(void)
{
	const struct engine *engine = agent_engine();

	if (!engine || !engine->get_thread_local_data)
		return NULL;
	/* Once for each thread: no engine moves it. */
	if (!poll.data)
		poll.data = engine->get_thread_local_data();
	return poll.data;
}

struct asprof_thread_local_data *asprof_agent_poll_counter(void)
{
	return find_counter();
}

void asprof_agent_poll_begin(void)
{
	poll.open = false;
	if (!find_counter())
		return;
	poll.samples_before = poll.data->sample_counter;
	poll.began = clock_ticks();
	poll.open = true;
}

static _Atomic asprof_jfr_event_key known_key = -1;

/* Emit the event of a poll: start and end in ticks, little-endian, the format of pollcatch in async-profiler's Rust
 * agent. */
static void poll_emit(const struct engine *engine, uint64_t began, uint64_t ended)
{
	asprof_jfr_event_key key = known_key;
	uint64_t ends[2] = { began, ended };

	if (!engine->register_jfr_event || !engine->emit_jfr_event)
		return;
	if (key < 0)
		known_key = key = engine->register_jfr_event(ASPROF_AGENT_POLL_EVENT);
	if (key >= 0)
		engine->emit_jfr_event(key, (const uint8_t *)ends, sizeof(ends));
}

/* True if the poll was as long as the wall interval, so that a wall sample fell into it. async-profiler does not
 * change the counter of a thread that was asleep. (A microsecond is at least half of one here: an additional event
 * does no harm.) */
static bool poll_is_long(uint64_t now)
{
	uint64_t interval_ns = process_config()->wall_interval_ns;

	return interval_ns != OPTION_OFF &&
	       (now - poll.began) >> arch_microsecond_shift() >= interval_ns / 1000;
}

/* Another engine has other counters and keys. */
void api_reset_in_child(void)
{
	poll.data = NULL;
	poll.open = false;
	known_key = -1;
}

void asprof_agent_poll_end(void)
{
	const struct engine *engine;

	if (!poll.open)
		return;
	poll.open = false;
	if (poll.data->sample_counter == poll.samples_before && !poll_is_long(clock_ticks()))
		return;
	engine = agent_engine();
	if (engine)
		poll_emit(engine, poll.began, clock_ticks());
}

int asprof_agent_poll_record(unsigned long long began, unsigned long long ended)
{
	const struct engine *engine = agent_engine();

	if (!engine)
		return result_to_errno(-ESRCH);
	poll_emit(engine, began, ended);
	return 0;
}
