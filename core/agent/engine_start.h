/* Start parameters of engines, from the config and the user's ENGINE_OPTIONS. Both engines parse those alike. */
#ifndef CORE_AGENT_ENGINE_START_H
#define CORE_AGENT_ENGINE_START_H

#include <stdbool.h>
#include <string.h>

#include "core/agent/engine.h"
#include "core/agent/report.h"
#include "core/options/config.h"

/* Return the start parameters of CONFIG, without a file. MEM: the engine samples native memory too. */
struct engine_start engine_start_of(const struct config *config, bool mem);

/* Apply OPTION to START. OPTION ends at a comma or with the text. Returns 0; -ENOENT for options other than
 * "event=", "interval=", "wall=", "nativemem=" and "cstack="; or -EINVAL for an invalid value. */
int engine_start_set(struct engine_start *start, const char *option);

/* Return the option after OPTION in comma-separated options; NULL after the last. */
static inline const char *engine_option_next(const char *option)
{
	const char *comma = strchr(option, ',');

	return comma ? comma + 1 : NULL;
}

/* Return the intervals at which async-profiler samples when started with START; 0 for options that are not
 * understood. */
struct sampling engine_start_sampling(struct engine_start start);

#endif
