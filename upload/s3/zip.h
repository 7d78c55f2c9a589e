/* Writes zip files, as far as a report needs it. */
#ifndef UPLOAD_S3_ZIP_H
#define UPLOAD_S3_ZIP_H

#include "core/buf.h"
#include "core/agent/report.h"

/* Append to OUT a zip file that holds the recording of REPORT as "async_profiler_dump_0.jfr"
 * and METADATA as "metadata.json", both deflated.
 *
 * Returns 0 or -errno, -EFBIG where OUT's cap or a zip file's 4 GiB is passed.
 *
 * Not by libzip: that takes an entry's time through mktime() or localtime_r(), even where it is
 * given in DOS form, and so the C library's lock on the time zone, which a fork of the program may
 * catch. */
int zip_report(struct buf *out, const struct report *report, const char *metadata);

#endif
