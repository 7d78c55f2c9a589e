/* A report added up: what its recording holds as one profile, for those who take no JFR. */
#ifndef UPLOAD_PUSH_REPORT_PROFILE_H
#define UPLOAD_PUSH_REPORT_PROFILE_H

#include "core/agent/report.h"
#include "core/options/config.h"
#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"

struct report_profile {
	struct profile profile;
	struct libraries libraries;
	char problem[160]; /* what could not be read; "": nothing */
};

/* Add up all metrics of REPORT, by thread or not: what was allocated by its weight; what is retained as the
 * recording states it, else what was allocated in it and not freed. Where neither it nor whom it is of says how far
 * apart its samples were taken, that is CONFIG's to tell. The same report gives the same profile each time. What is beyond
 * REPORT_PROFILE_STACKS_MAX is counted without its stack.
 *
 * Returns 0, with a problem where only a part could be read; -EBADMSG where nothing could; -ENOMEM or
 * another -errno. Release with report_profile_free() in any case. */
int report_profile_read(struct report_profile *out, const struct report *report,
			const struct config *config, bool threads);
void report_profile_free(struct report_profile *profile);

#define REPORT_PROFILE_STACKS_MAX (2u << 20)

#endif
