/* The settings of this process, from the environment variables ASPROF_AGENT_*. */
#ifndef CORE_OPTIONS_CONFIG_H
#define CORE_OPTIONS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/log_level.h"
#include "core/options/option_value.h"

/* What `off` sets a duration or a size to, where a comment says so; 0 is a value of its own. */
#define OPTION_OFF UINT64_MAX

enum engine_choice { ENGINE_AUTO, ENGINE_ASYNC_PROFILER, ENGINE_BUILTIN };
enum mem_engine_choice { MEM_ENGINE_AUTO, MEM_ENGINE_ENGINE, MEM_ENGINE_BUILTIN };
enum frames_choice { FRAMES_AUTO, FRAMES_NATIVE };
enum sandbox_choice { SANDBOX_LEAVE, SANDBOX_STAY };

/* The settings of this process. Strings belong to the config (some are literals); NULL is unset.
 * Every number is one that the table accepts, so users need not check it again. */
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
	const char *cstack;
	enum frames_choice frames;
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
	const char *otlp_headers; /* likewise */
	const char *metadata;     /* "auto", "none" or "file:PATH" */
	const char *process;      /* comma-separated globs */
	bool children;
	bool crash;
	bool fork;
	enum sandbox_choice sandbox;
	uint64_t start_delay_ns; /* `off`: 0 */
	const char *spool_dir;
	uint64_t spool_max_bytes; /* or OPTION_OFF: no limit */
	uint64_t exit_timeout_ns; /* `off`: 0 */
	uint64_t stalls_ns;       /* or OPTION_OFF */
	const char *listen;       /* "auto"; NULL: off */
	const char *listen_token;
	enum log_level log;
	const char *log_file;
	bool local_max_bytes_set; /* said by the user: the default differs by directory */

	/* All texts of the above that came from the environment; so there is no copy of this struct. */
	char room[1024];
	char *mapped; /* where that is not enough; else NULL */
	size_t mapped_bytes;
};

/* Read ENVIRONMENT ("NAME=value", NULL-terminated) into CONFIG, defaults where a variable is
 * missing or empty. Returns 0 (release with config_free), -EINVAL with one line in PROBLEM that
 * names the variable, the value and what would be accepted, or -ENOMEM. With ENABLED=off nothing
 * else is read: all other fields are zero. Opens no file, allocates nothing and takes
 * microseconds: it runs in the constructor of every process. */
int config_read(struct config *config, char *const *environment, char problem[OPTION_PROBLEM_MAX]);
void config_free(struct config *config);

/* Warn, once each, of ASPROF_AGENT_* names in ENVIRONMENT that are not options, with the
 * nearest name that is, and of options that are set to something that this version cannot do. */
void config_warn(char *const *environment);

#endif
