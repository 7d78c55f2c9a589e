/* Checks of the doctor: settings, environment of a process, and the kernel. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/options/admit.h"
#include "core/units.h"
#include "decoder/doctor/doctor.h"
#include "decoder/output/log_capture.h"
#include "engine/process/proc_file.h"
#include "profile/basics/text.h"

void doctor_settings(struct doctor_subject *p)
{
	if (p->is_configured)
		return;
	if (p->problem[0])
		doctor_add_finding(
			p, SEVERITY_STOP, NULL,
			"Correct the variable or unset it; `asprof-agent options` lists accepted "
			"values.",
			"%s", p->problem);
	else
		doctor_add_finding(p, SEVERITY_STOP, NULL, "Unset ASPROF_AGENT_ENABLED.",
				   "ASPROF_AGENT_ENABLED is off");
}

void doctor_unknown(struct doctor_subject *p)
{
	char line[1024];

	log_capture_start();
	config_warn(p->environment);
	while (log_capture_next_line(line, sizeof(line)))
		doctor_add_finding(
			p, SEVERITY_NOTE, NULL,
			"Correct its name, or unset it; `asprof-agent options` lists all.", "%s",
			line);
}

void doctor_left_out(struct doctor_subject *p)
{
	if (!p->has_preload && !config_admits(&p->config, text_base_name(p->program)))
		doctor_add_finding(p, SEVERITY_STOP, NULL, "Add it to ASPROF_AGENT_PROCESS.",
				   "ASPROF_AGENT_PROCESS=%s excludes %s", p->config.process,
				   text_base_name(p->program));
}

/* For a process only: the preload must be mapped. */
void doctor_preloaded(struct doctor_subject *p)
{
	const char *preloads = doctor_get_variable(p, "LD_PRELOAD");

	if (!p->pid || p->has_preload)
		return;
	if (!preloads || !strstr(preloads, "asprof"))
		doctor_add_finding(
			p, SEVERITY_STOP, NULL,
			"Start it with LD_PRELOAD=libasprof_preload.so. sudo, su and some "
			"supervisors remove the variable: set it in the command that they start.",
			"the preload is not in process %d, as its environment has no LD_PRELOAD "
			"for it",
			p->pid);
	else
		doctor_add_finding(
			p, SEVERITY_STOP, NULL,
			"Look for the dynamic linker's message on its standard error; the "
			"file must exist in its root directory and be readable.",
			"the preload is not in process %d, although LD_PRELOAD=%s", p->pid,
			preloads);
}

/* Without a spool some kinds of exit lose the last report. For programs only where that is usual: Go. */
void doctor_exit(struct doctor_subject *p)
{
	char interval[TEXT_NUMBER] = "no limit";

	if (p->config.spool_dir || !(p->pid || p->file.is_go))
		return;
	if (p->config.reporting_interval_ns <= HOURS(24))
		text_duration(interval, (double)p->config.reporting_interval_ns);
	doctor_add_finding(p, SEVERITY_NOTE, NULL,
			   "Set ASPROF_AGENT_SPOOL_DIR, so that the next process recovers them, or "
			   "start the program by `asprof-agent run`.",
			   "SIGKILL, a real-time signal%s lose the samples since the last report "
			   "(at most %s)",
			   p->file.is_go ? " and each normal end of this Go program"
					 : " and exit_group(2) without the C library",
			   interval);
}

/* Only async-profiler uses perf events. Root does not need the permission. */
void doctor_perf(struct doctor_subject *p)
{
	char text[32];

	if (p->config.engine != ENGINE_ASYNC_PROFILER || !geteuid() ||
	    proc_file_read("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) < 0 ||
	    atoi(text) <= 1)
		return;
	doctor_add_finding(
		p, SEVERITY_NOTE, NULL,
		"sysctl kernel.perf_event_paranoid=1 kernel.kptr_restrict=0",
		"kernel.perf_event_paranoid is %d: async-profiler samples by timers, without "
		"kernel stacks",
		atoi(text));
}

void doctor_seccomp(struct doctor_subject *p)
{
	if (p->seccomp == 1)
		doctor_add_finding(
			p, SEVERITY_STOP, NULL, "Profile it without its sandbox.",
			"the process is in seccomp's strict mode, which permits no writes");
	else if (p->pid && p->seccomp == 2 && p->is_isolated)
		doctor_add_finding(
			p, SEVERITY_STOP, NULL, "Profile it without its sandbox.",
			"the process is under a seccomp filter: profiling ends when a program "
			"enters a filter itself");
	else if (p->seccomp == 2)
		doctor_add_finding(
			p, SEVERITY_NOTE, NULL,
			"Nothing needs to be done; kernel stacks need a filter that permits "
			"perf_event_open.",
			"under a seccomp filter, as in most containers, async-profiler samples by "
			"timers, without kernel stacks");
}
