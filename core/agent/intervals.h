/* Sampling intervals of a session: those of its settings, or shorter ones of a capture, or longer ones of the overhead
 * budget.
 *
 * A capture may ask for intervals, which apply until it ends, or until its lease ends. Of several the shortest applies,
 * so captures do not disturb each other. The settings do not change. Agent thread only. */
#ifndef CORE_AGENT_INTERVALS_H
#define CORE_AGENT_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/live.h"
#include "core/agent/session.h"

/* Read the options of CALL into INTERVALS: CPU_INTERVAL, WALL_INTERVAL and NATIVE_MEM. Returns 0, or -EINVAL with the
 * reason in CALL's problem. */
int intervals_read(struct capture_intervals *intervals, struct live_call *call);

/* Set SESSION's config from its settings, its captures, MORE intervals (NULL: none), and the budget. The engines keep
 * theirs. */
void intervals_update(struct session *session, const struct capture_intervals *more);

/* The same, and make the engines sample so, by a restart if necessary. The data until now is reported, unless
 * IS_REPORTED: then it was. Returns 0; -EPERM, and nothing is changed, if an
 * engine cannot restart; or -errno of failed(): then the session is paused until session_resume(). */
int intervals_apply(struct session *session, const struct capture_intervals *more,
		    bool is_reported);

/* Measure what sampling costs, and lengthen or shorten the intervals so that it stays within the budget. A failure is
 * logged. Returns when this is due again (monotonic clock). */
uint64_t intervals_keep_budget(struct session *session, uint64_t now_ns);

/* Apply the intervals that are left after the end of a capture. A failure is logged. */
void intervals_restore(struct session *session);

/* End the intervals of captures whose lease has ended. Returns when the next lease ends (monotonic clock, UINT64_MAX:
 * never). */
uint64_t intervals_expire(struct session *session, uint64_t now_ns);

#endif
