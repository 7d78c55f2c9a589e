/* Choice of reporters: a directory, S3, Pyroscope, OTLP. With neither a directory nor S3: the default directory. */
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

	return err ? err : origin_capture(environment);
}

/* In the order in which the log names them. */
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
		log_info("recovered the last report of process %d, which was killed: %llu samples "
			 "(%s)",
			 (int)result->report->pid,
			 (unsigned long long)result->report->samples_taken, result->made);
	else if (result->outcome == RECOVER_DAMAGED || result->outcome == RECOVER_FAILED)
		log_warn("cannot recover %s: %s", result->name,
			 result->outcome == RECOVER_DAMAGED ? "it is damaged, and removed"
							    : strerror(-result->err));
}

struct continue_check {
	bool (*may_continue)(void *context);
	void *context;
};

static bool may_continue(void *context)
{
	struct continue_check *check = context;

	return check->may_continue(check->context);
}

static int recover(int dir, bool (*may)(void *context), void *context)
{
	struct continue_check check = { may, context };
	const struct recover_how how = {
		.out = -1, .go_on = may_continue, .on_result = log_recovered, .context = &check
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
