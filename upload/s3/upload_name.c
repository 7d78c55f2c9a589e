/* Key of an upload in its bucket. */
#include "upload/s3/upload_name.h"

#include <inttypes.h>

#include "upload/files/name.h"
#include "upload/queue/origin.h"

int upload_name(struct buf *out, const struct config *config, const struct report *report,
		const struct host *host)
{
	char time[NAME_TIME_SIZE];
	int err;

	name_time(time, report->end_ms);
	err = buf_printf(out, "%sprofile_%s_", config->s3_prefix ? config->s3_prefix : "",
			 report->group ? report->group : config->profiling_group);
	if (!err)
		err = origin_machine(out, report, host);
	if (!err)
		err = buf_printf(out, "_%d_%s-%08" PRIx32 ".zip", (int)report->pid, time,
				 report->unique);
	return err;
}
