/* Check of a running process through its live endpoint. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>

#include "decoder/doctor/doctor.h"
#include "decoder/live/attachable.h"
#include "decoder/live/live_request.h"

static void live_check_status(struct doctor_subject *p, const cJSON *status)
{
	const cJSON *reports = cJSON_GetObjectItemCaseSensitive(status, "reports"), *each;
	char remedy[64];

	snprintf(remedy, sizeof(remedy), "Start it again: asprof-agent start %d", p->pid);
	if (*live_json_text(status, "last_error"))
		doctor_add_finding(p, SEVERITY_STOP, "session",
				   "Correct that, then restart the program.",
				   "its profiler failed: %s", live_json_text(status, "last_error"));
	else if (cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(status, "running")))
		doctor_add_finding(p, SEVERITY_STOP, "session", remedy, "its profiler is stopped");
	cJSON_ArrayForEach(each, cJSON_GetObjectItemCaseSensitive(reports, "destinations"))
	{
		if (*live_json_text(each, "last_error"))
			doctor_add_finding(
				p, SEVERITY_STOP, "delivery",
				"Correct that, and the next retry delivers the report; the "
				"agent's log has details.",
				"the last delivery to %s failed: %s", live_json_text(each, "name"),
				live_json_text(each, "last_error"));
	}
}

/* A process without the agent. The kernel is asked whether this user may trace it. */
static void check_attachable(struct doctor_subject *p)
{
	char problem[ATTACHABLE_PROBLEM_MAX], remedy[80];
	int err = attachable_check(p->pid, false, problem);
	bool is_attachable = !err;

	if (err == -EALREADY)
		return;
	snprintf(remedy, sizeof(remedy), "%sasprof-agent attach %d",
		 is_attachable ? "" : "Correct that, then run ", p->pid);
	doctor_add_finding(p, SEVERITY_NOTE, "attach", remedy,
			   is_attachable ? "process %d can be profiled without a new start"
					 : "process %d cannot be attached to: it %s",
			   p->pid, problem);
}

void doctor_live(struct doctor_subject *p)
{
	struct live_request request = { .pid = p->pid,
					.method = "GET",
					.path = "/status",
					.body = "",
					.captures_problem = true };
	struct buf answer = BUF_INIT(LIVE_STATUS_MAX);
	int err = live_request_send(&request, &answer);
	cJSON *status = err ? NULL : cJSON_ParseWithLength((char *)answer.data, answer.length);

	p->check = "live";
	if (status)
		live_check_status(p, status);
	else if (!err)
		doctor_add_finding(p, SEVERITY_NOTE, NULL, "Check which program the process runs.",
				   "its live endpoint gives an invalid answer");
	else if (err == -ENOENT)
		check_attachable(p);
	else if (err != -ESRCH && err != -ENOTCONN)
		/* Without an endpoint, a process is only checked from outside. */
		doctor_add_finding(p, SEVERITY_NOTE, NULL,
				   "Correct that, then run asprof-agent status.", "%s",
				   buf_string(&answer) ? buf_string(&answer) : "");
	cJSON_Delete(status);
	buf_free(&answer);
}
