/* Which reporters a config asks for: a directory, a bucket, both; with neither, a directory. */
#include "image/reporters.h"

#include <string.h>

#include "core/log.h"
#include "upload/files/place.h"
#include "upload/local/local.h"
#include "upload/queue/origin.h"
#include "upload/queue/queue.h"
#include "upload/s3/s3.h"

int reporters_capture(const struct config *config, char *const *environment)
{
	int err = place_capture(config, environment);

	if (!err && config->s3_bucket)
		err = s3_capture_environment(environment);
	if (!err && config->s3_bucket && config->spool_dir)
		err = origin_capture(environment);
	return err;
}

int reporters_open(struct reporter **out, const struct config *config)
{
	struct reporter *reporters[2];
	size_t count = 0;
	int err = 0;

	if (config->local_dir || !config->s3_bucket) {
		err = local_reporter_open(&reporters[count], config);
		count += !err;
	}
	if (config->s3_bucket) {
		int s3_err = s3_reporter_open(&reporters[count], config);

		count += !s3_err;
		err = s3_err ? s3_err : err;
	}
	if (!count)
		return err;
	err = queue_open(out, reporters, count, config);
	if (err) {
		log_error("no reports are kept for delivery: %s", strerror(-err));
		for (size_t i = 0; i < count; i++)
			reporters[i]->close(reporters[i]);
	}
	return err;
}
