/* Which reporters a config asks for: a directory, a bucket; with neither, a directory; and
 * servers of profiles. */
#include "image/reporters.h"

#include <string.h>

#include "core/log.h"
#include "upload/files/place.h"
#include "upload/local/local.h"
#include "upload/otlp/otlp.h"
#include "upload/push/push.h"
#include "upload/pyroscope/pyroscope.h"
#include "upload/queue/origin.h"
#include "upload/queue/queue.h"
#include "upload/queue/store.h"
#include "upload/recover/recover.h"
#include "upload/s3/s3.h"

int reporters_capture(const struct config *config, char *const *environment)
{
	int err = place_capture(config, environment);

	if (!err && config->s3_bucket)
		err = s3_capture_environment(environment);
	if (!err && (config->pyroscope_url || config->otlp_endpoint))
		err = push_capture_environment(environment);
	if (!err)
		err = origin_capture(environment);
	return err;
}

/* The reporters, in the order in which the log tells of them, and whether each is asked for. */
static int open_all(struct reporter **reporters, size_t *count, const struct config *config)
{
	const struct {
		bool wanted;
		int (*open)(struct reporter **out, const struct config *config);
	} all[] = {
		{ config->local_dir || !config->s3_bucket, local_reporter_open },
		{ config->s3_bucket, s3_reporter_open },
		{ config->pyroscope_url, pyroscope_reporter_open },
		{ config->otlp_endpoint, otlp_reporter_open },
	};
	int err = 0;

	_Static_assert(sizeof(all) / sizeof(all[0]) <= REPORTERS_MAX, "reporters");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int one = all[i].wanted ? all[i].open(&reporters[*count], config) : 0;

		*count += all[i].wanted && !one;
		err = one ? one : err;
	}
	return err;
}

static void log_recovered(void *context, const struct recover_result *result)
{
	(void)context;
	if (result->outcome == RECOVER_MADE)
		log_info("recovered what process %d had, which was killed: %llu samples (%s)",
			 (int)result->report->pid,
			 (unsigned long long)result->report->samples_taken, result->made);
	else if (result->outcome == RECOVER_DAMAGED || result->outcome == RECOVER_FAILED)
		log_warn("cannot recover %s: %s", result->name,
			 result->outcome == RECOVER_DAMAGED ? "it is damaged, and removed"
							    : strerror(-result->err));
}

struct bound {
	bool (*go_on)(void *context);
	void *context;
};

static bool go_on(void *context)
{
	struct bound *bound = context;

	return bound->go_on(bound->context);
}

static int recover(int dir, bool (*may)(void *context), void *context)
{
	struct bound bound = { may, context };
	const struct recover_how how = {
		.out = -1, .go_on = go_on, .tell = log_recovered, .context = &bound
	};

	return recover_spool(dir, &how);
}

int reporters_open(struct reporter **out, const struct config *config)
{
	struct reporter *reporters[REPORTERS_MAX];
	size_t count = 0;
	int err = open_all(reporters, &count, config);

	if (!count)
		return err;
	err = queue_open(out, reporters, count, config);
	if (err) {
		log_error("no reports are kept for delivery: %s", strerror(-err));
		for (size_t i = 0; i < count; i++)
			reporters[i]->close(reporters[i]);
	} else {
		queue_recover_by(*out, recover);
	}
	return err;
}
