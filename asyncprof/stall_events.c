/* Events for stalls of event loops, when async-profiler is the engine.
 *
 * async-profiler gets a request for one sample of the late thread, as from its wall clock. The stall is a user
 * event, by which `asprof-agent longpolls` finds that sample. */
#include "asyncprof/stall_events.h"

#include <errno.h>
#include <sys/syscall.h>

#include "asyncprof/fd_calls.h"
#include "core/agent.h"
#include "core/agent/engine.h"
#include "core/system.h"

#define STALL_EVENT "asprof.StallV1"

static _Atomic asprof_jfr_event_key known_key = -1;

void stall_events_reset_in_child(void)
{
	known_key = -1;
}

/* Without a wall clock there is no such signal; then the stall has the stacks of its CPU samples. */
static void stall_sample_thread(pid_t tid)
{
	int signo = fd_calls_wall_signal();

	if (signo)
		kernel_call4(SYS_tgkill, system_process(), tid, signo, 0);
}

/* The event's time is the end of the stall. Its data are the duration and the number of ready descriptors,
 * little-endian. */
static void stall_event_emit(uint64_t ns, int ready)
{
	const struct engine *engine = agent_engine();
	uint64_t data[2] = { ns, (uint64_t)(int64_t)ready };
	asprof_jfr_event_key key = known_key;
	int saved = errno;

	if (!engine || !engine->register_jfr_event || !engine->emit_jfr_event)
		return;
	if (key < 0)
		known_key = key = engine->register_jfr_event(STALL_EVENT);
	if (key >= 0)
		engine->emit_jfr_event(key, (const uint8_t *)data, sizeof(data));
	errno = saved;
}

const struct stall_output stall_events_output = { .sample = stall_sample_thread,
						  .report = stall_event_emit };
