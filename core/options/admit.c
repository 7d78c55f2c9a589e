/* Decides whether this process is profiled. */
#include "core/options/admit.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "core/error_text.h"
#include "core/executable.h"
#include "core/log.h"
#include "core/options/glob.h"

bool config_admits(const struct config *config, const char *executable)
{
	const char *p = config->process;
	bool only_out = true, out;
	size_t length;

	if (!strcmp(p, "*"))
		return true;
	for (;; p++) {
		length = strcspn(p, ",");
		out = *p == '!';
		only_out = only_out && (out || !length);
		if (length && glob_matches(p + out, length - out, executable))
			return !out;
		p += length;
		if (!*p)
			return only_out;
	}
}

int config_begin(struct config *config, char *const *environment, bool is_secure)
{
	char problem[OPTION_PROBLEM_MAX], executable[NAME_MAX + 1];
	int err;

	if (is_secure)
		return -EPERM;
	err = config_read(config, environment, problem);
	if (err) {
		log_open(LOG_WARN, NULL);
		log_error("%s; profiling is off in this process",
			  err == -EINVAL ? problem : error_text(-err));
		return err;
	}
	if (!config->enabled)
		return -EPERM;
	executable_name(executable, sizeof(executable));
	return config_admits(config, executable) ? 0 : -EPERM;
}
