/* Aggregation of a report's recording into one profile, for destinations that do not accept JFR. */
#ifndef UPLOAD_PUSH_REPORT_PROFILE_H
#define UPLOAD_PUSH_REPORT_PROFILE_H

#include "core/agent/report.h"
#include "core/options/config.h"
#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"

struct report_profile {
	struct profile profile;
	struct libraries libraries;
	char problem[160]; /* description of unreadable data; "": none */
};

/* Aggregate all metrics of REPORT, with THREADS for each thread and each object of a wait. Allocations count by their
 * weight. Live memory is the recording's own summary, else the allocations in it that were not
 * freed.
 *
 * The recording or the report's origin states the sampling intervals, else CONFIG. The result is
 * deterministic. Beyond REPORT_PROFILE_STACKS_MAX bytes of stacks, samples count without their
 * stack.
 *
 * Returns 0, with a problem if only a part was readable; -EBADMSG if nothing was; -ENOMEM or
 * another -errno. Release OUT with report_profile_free() in any case. */
int report_profile_read(struct report_profile *out, const struct report *report,
			const struct config *config, bool threads);
void report_profile_free(struct report_profile *profile);

#define REPORT_PROFILE_STACKS_MAX (2u << 20)

#endif
