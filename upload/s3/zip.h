/* Writer of zip files, limited to reports. */
#ifndef UPLOAD_S3_ZIP_H
#define UPLOAD_S3_ZIP_H

#include "core/buf.h"
#include "core/agent/report.h"

/* Append a zip file to OUT. It contains the recording of REPORT as "async_profiler_dump_0.jfr"
 * and METADATA as "metadata.json", both deflated.
 *
 * Returns 0 or -errno; -EFBIG beyond OUT's cap or the 4 GiB limit of zip files.
 *
 * libzip is not suitable. It passes an entry's time through mktime() or localtime_r(), even from
 * DOS form. These take the C library's time zone lock, which a fork of the program may copy in
 * its locked state. */
int zip_report(struct buf *out, const struct report *report, const char *metadata);

#endif
