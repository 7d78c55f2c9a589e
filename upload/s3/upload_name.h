/* Key of an upload in its bucket. decoder/bucket/object_name.h parses it. */
#ifndef UPLOAD_S3_UPLOAD_NAME_H
#define UPLOAD_S3_UPLOAD_NAME_H

#include "core/agent/report.h"
#include "core/buf.h"
#include "core/options/config.h"
#include "upload/aws/host.h"

/* Append "{prefix}profile_{group}_{machine}_{pid}_{time}-{unique}.zip"; the unique number has
 * eight hexadecimal digits. Returns 0 or -errno. */
int upload_name(struct buf *out, const struct config *config, const struct report *report,
		const struct host *host);

#endif
