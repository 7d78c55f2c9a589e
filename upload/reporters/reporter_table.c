/* The kinds of reporters: a directory, S3, Pyroscope, OTLP. With neither a directory nor S3: the default directory. */
#include "upload/reporters/reporter_table.h"

#include "core/agent/report.h"
#include "core/options/config.h"
#include "core/shared.h"
#include "upload/local/local.h"
#include "upload/otlp/otlp.h"
#include "upload/pyroscope/pyroscope.h"
#include "upload/s3/s3.h"

static bool local_is_wanted(const struct config *config)
{
	return config->local_dir || !config->s3_bucket;
}

static bool s3_is_wanted(const struct config *config)
{
	return config->s3_bucket;
}

static bool pyroscope_is_wanted(const struct config *config)
{
	return config->pyroscope_url;
}

static bool otlp_is_wanted(const struct config *config)
{
	return config->otlp_endpoint;
}

const struct reporter_row reporter_table[] = {
	{ "local", local_is_wanted, local_reporter_open,
	  "Make the directory, owned by the program's user, or name another." },
	{ "s3", s3_is_wanted, s3_reporter_open,
	  "Correct the credentials, or permit s3:PutObject on the bucket's objects." },
	{ "pyroscope", pyroscope_is_wanted, pyroscope_reporter_open,
	  "Correct ASPROF_AGENT_PYROSCOPE_URL or ASPROF_AGENT_PYROSCOPE_HEADERS." },
	{ "otlp", otlp_is_wanted, otlp_reporter_open,
	  "Correct ASPROF_AGENT_OTLP_ENDPOINT or ASPROF_AGENT_OTLP_HEADERS; the receiver must "
	  "accept "
	  "profiles." },
};

const size_t reporter_table_count = sizeof(reporter_table) / sizeof(*reporter_table);

_Static_assert(sizeof(reporter_table) / sizeof(*reporter_table) <= REPORTERS_MAX, "reporters");
