/* Count of the reports that would be lost if the process ended now, and the log message about them.
 *
 * The agent's thread logs it when the time for deliveries is over. If that thread gets no processor, the thread that
 * ends the process logs it. */
#ifndef CORE_AGENT_LOST_REPORTS_H
#define CORE_AGENT_LOST_REPORTS_H

#include <stdbool.h>
#include <stddef.h>

/* Reset the state for a new queue of reports. */
void lost_reports_reset(void);

/* Set the number of reports in memory that wait for delivery. */
void lost_reports_set_waiting(size_t count);

/* Set whether there is a recording that is not a report yet. */
void lost_reports_set_recording(bool is_recording);

/* Log how many reports are lost, if any; once. HAS_SPOOL: a directory keeps reports. AND_RECORDING: a recording that
 * is not a report yet counts as one. Any thread. Async-signal-safe. */
void lost_reports_log(bool has_spool, bool and_recording);

#endif
