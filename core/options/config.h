/* Settings of this process, from the environment variables ASPROF_AGENT_*. */
#ifndef CORE_OPTIONS_CONFIG_H
#define CORE_OPTIONS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/log_level.h"
#include "core/options/option_value.h"

/* Value of a duration or a size that is `off`, for members whose comment names it; 0 is a separate value. */
#define OPTION_OFF UINT64_MAX

/* Default of SPOOL_MAX_BYTES without a spool directory. */
#define CONFIG_MEMORY_MAX_BYTES ((uint64_t)32 << 20)

enum engine_choice { ENGINE_AUTO, ENGINE_ASYNC_PROFILER, ENGINE_BUILTIN };
enum mem_engine_choice { MEM_ENGINE_AUTO, MEM_ENGINE_ENGINE, MEM_ENGINE_BUILTIN };
enum frames_choice { FRAMES_AUTO, FRAMES_NATIVE };
enum waits_choice { WAITS_ON, WAITS_KINDS, WAITS_OFF };

/* Settings. The config owns the strings (some are literals); NULL: unset. All numbers are in the ranges of the
 * option table, so users need not check them. */
struct config {
	bool enabled;
	enum engine_choice engine;
	const char *lib;
	uint64_t reporting_interval_ns; /* `off`: a hundred years */
	uint64_t cpu_interval_ns;       /* or OPTION_OFF */
	uint64_t wall_interval_ns;      /* or OPTION_OFF */
	uint64_t native_mem_bytes;      /* or OPTION_OFF */
	enum mem_engine_choice native_mem_engine;
	uint64_t native_mem_limit_bytes;   /* or OPTION_OFF */
	uint64_t native_mem_growth_permil; /* thousandths, or OPTION_OFF */
	uint64_t lock_ns;                  /* or OPTION_OFF */
	uint64_t budget_permil;            /* thousandths, or OPTION_OFF */
	const char *cstack;
	enum frames_choice frames;
	enum waits_choice waits;
	const char *engine_options;
	const char *profiling_group; /* the executable's base name when unset */
	const char *tags;            /* "key=value,…", checked */
	const char *local_dir;
	uint64_t local_max_bytes;  /* 0: keep all */
	uint64_t local_max_age_ns; /* or OPTION_OFF */
	const char *s3_bucket;
	const char *s3_bucket_owner;
	const char *s3_prefix;
	const char *s3_region;
	const char *s3_endpoint;
	const char *s3_proxy; /* NULL: off */
	const char *pyroscope_url;
	const char *pyroscope_headers; /* "key=value,…", checked */
	const char *otlp_endpoint;
	const char *otlp_headers; /* "key=value,…", checked */
	const char *metadata;     /* "auto", "none" or "file:PATH" */
	const char *process;      /* comma-separated globs */
	bool children;
	bool crash;
	bool fork;
	unsigned int sandbox;    /* `leave` is the only value */
	uint64_t start_delay_ns; /* `off`: 0 */
	const char *spool_dir;
	uint64_t memory_bytes;    /* 0: no limit */
	uint64_t spool_max_bytes; /* or OPTION_OFF: no limit */
	uint64_t exit_timeout_ns; /* `off`: 0 */
	uint64_t stalls_ns;       /* or OPTION_OFF */
	const char *listen;       /* "auto"; NULL: off */
	const char *listen_token;
	enum log_level log;
	const char *log_file;
	bool local_max_bytes_set; /* set by the user; the default differs by directory */
	bool spool_max_bytes_set; /* set by the user; the default is smaller in memory than in a directory */

	/* Storage of the strings from the environment; so this struct is never copied with them. */
	char storage[1024];
	char *mapped; /* more storage if that is too small; else NULL */
	size_t mapped_bytes;
};

/* Read ENVIRONMENT ("NAME=value", NULL-terminated) into CONFIG. Missing and empty variables have their defaults.
 * With ENABLED=off nothing else is read and all other members are zero. It runs in the constructor of every process:
 * it opens no file, allocates nothing and takes microseconds.
 *
 * Returns 0 (release with config_free); -EINVAL with one line in PROBLEM that names the variable, its value and the
 * accepted values; or -ENOMEM. */
int config_read(struct config *config, char *const *environment, char problem[OPTION_PROBLEM_MAX]);
void config_free(struct config *config);

/* Return the maximum bytes of undelivered reports in memory, which count in the program's control group; OPTION_OFF:
 * no limit. */
static inline uint64_t config_memory_max_bytes(const struct config *config)
{
	uint64_t max = config->spool_max_bytes;

	return config->spool_max_bytes_set || max < CONFIG_MEMORY_MAX_BYTES
		       ? max
		       : CONFIG_MEMORY_MAX_BYTES;
}

/* Log a warning for each ASPROF_AGENT_* name in ENVIRONMENT that is not an option, with the nearest option name.
 * Also warn of options with values that this version does not support. */
void config_warn(char *const *environment);

#endif
