/* Memory that the program's threads and the agent's threads share. */
#include "core/shared.h"

#include "core/log_level.h"

static struct shared one = {
	.log = { .level = LOG_WARN, .standard.fd = -1, .in_program.fd = -1 },
};

struct shared *shared = &one;
