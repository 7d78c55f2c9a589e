/* libasyncProfiler.so without a profiler: connects the pollcatch hooks of the Rust crate async-profiler-agent to the
 * preloaded agent. The crate loads a library of this name and requires these six functions. Any thread.
 *
 * It needs no C library. Without the preload its hooks record nothing. */
#include <stdbool.h>

#include "core/asprof.h"
#include "preload/asprof_agent.h"

#define API __attribute__((visibility("default")))

void asprof_init(void);
const char *asprof_error_str(asprof_error_t err);
asprof_error_t asprof_execute(const char *command, asprof_writer_t output);
struct asprof_thread_local_data *asprof_get_thread_local_data(void);
asprof_jfr_event_key asprof_register_jfr_event(const char *name);
asprof_error_t asprof_emit_jfr_event(asprof_jfr_event_key key, const uint8_t *data, size_t length);

/* By this symbol the agent knows that the library is no engine (asyncprof/engine_library.c). */
extern const char asprof_agent_is_bridge;
API const char asprof_agent_is_bridge = 1;

API void asprof_init(void)
{
}

API const char *asprof_error_str(asprof_error_t err)
{
	return err;
}

/* The crate's profiler stops after this error; the program goes on. */
API asprof_error_t asprof_execute(const char *command, asprof_writer_t output)
{
	(void)command;
	(void)output;
	return "this libasyncProfiler.so has no profiler: libasprof_preload.so profiles the "
	       "program";
}

API struct asprof_thread_local_data *asprof_get_thread_local_data(void)
{
	return asprof_agent_poll_counter ? asprof_agent_poll_counter() : NULL;
}

static bool is_pollcatch(const char *name)
{
	const char *wanted = ASPROF_AGENT_POLL_EVENT;

	while (*name && *name == *wanted)
		name++, wanted++;
	return *name == *wanted;
}

API asprof_jfr_event_key asprof_register_jfr_event(const char *name)
{
	return is_pollcatch(name) ? 0 : -1;
}

API asprof_error_t asprof_emit_jfr_event(asprof_jfr_event_key key, const uint8_t *data,
					 size_t length)
{
	uint64_t ends[2];

	if (key || length != sizeof(ends))
		return "not an event of pollcatch";
	__builtin_memcpy(ends, data, sizeof(ends));
	if (!asprof_agent_poll_record || asprof_agent_poll_record(ends[0], ends[1]))
		return "libasprof_preload.so does not profile this program";
	return NULL;
}
