/* Count of the reports that would be lost if the process ended now. */
#include "core/agent/lost_reports.h"

#include "core/log.h"
#include "core/shared.h"

void lost_reports_reset(void)
{
	atomic_store(&shared->agent.reports_waiting, 0);
	atomic_store(&shared->agent.is_loss_logged, false);
}

void lost_reports_set_waiting(size_t count)
{
	atomic_store(&shared->agent.reports_waiting, (uint32_t)count);
}

void lost_reports_set_recording(bool is_recording)
{
	atomic_store(&shared->agent.is_recording, is_recording);
}

void lost_reports_log(bool has_spool, bool and_recording)
{
	unsigned count = atomic_load(&shared->agent.reports_waiting);

	count += and_recording && atomic_load(&shared->agent.is_recording);
	if (!count || atomic_exchange(&shared->agent.is_loss_logged, true))
		return;
	log_error("%u report%s %s not delivered and %s lost%s", count, count == 1 ? "" : "s",
		  count == 1 ? "was" : "were", count == 1 ? "is" : "are",
		  has_spool ? "" : "; set ASPROF_AGENT_SPOOL_DIR to keep them");
}
