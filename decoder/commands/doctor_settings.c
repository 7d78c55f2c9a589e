/* What the doctor finds in the settings, in a process, and in what the kernel permits here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/options/admit.h"
#include "decoder/commands/doctor.h"
#include "decoder/output/log_capture.h"
#include "engine/process/proc_file.h"

void doctor_settings(struct patient *p)
{
	if (p->configured)
		return;
	if (p->problem[0])
		doctor_add_finding(
			p, SEVERITY_STOP, NULL,
			"Correct the variable or unset it; `asprof-agent options` tells what each "
			"takes.",
			"%s", p->problem);
	else
		doctor_add_finding(p, SEVERITY_STOP, NULL, "Unset ASPROF_AGENT_ENABLED.",
				   "ASPROF_AGENT_ENABLED is off");
}

void doctor_unknown(struct patient *p)
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

static const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void doctor_left_out(struct patient *p)
{
	if (!p->has_preload && !config_admits(&p->config, text_base_name(p->program)))
		doctor_add_finding(p, SEVERITY_STOP, NULL, "Have ASPROF_AGENT_PROCESS name it.",
				   "ASPROF_AGENT_PROCESS=%s leaves %s out", p->config.process,
				   text_base_name(p->program));
}

/* The number behind NAME in the status of the process, or -1. */
static int status_number(pid_t pid, const char *name)
{
	char path[64], text[4096];
	const char *at;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/status", pid);
	else
		snprintf(path, sizeof(path), "/proc/self/status");
	if (proc_file_read(path, text, sizeof(text)) < 0)
		return -1;
	at = strstr(text, name);
	return at ? atoi(at + strlen(name)) : -1;
}

/* Of a process alone: the preload should be in it. */
void doctor_preloaded(struct patient *p)
{
	const char *preloads = doctor_get_variable(p, "LD_PRELOAD");

	if (!p->pid || p->has_preload)
		return;
	if (!preloads || !strstr(preloads, "asprof"))
		doctor_add_finding(
			p, SEVERITY_STOP, NULL,
			"Start it with LD_PRELOAD=libasprof_preload.so. sudo, su and some "
			"supervisors "
			"remove the variable: set it behind them.",
			"the preload is not in process %d, as there is no LD_PRELOAD for it in its "
			"environment",
			p->pid);
	else
		doctor_add_finding(
			p, SEVERITY_STOP, NULL,
			"Look for the dynamic linker's line on its standard error; the file "
			"must be "
			"there in its root directory, and readable.",
			"the preload is not in process %d, although LD_PRELOAD=%s", p->pid,
			preloads);
}

/* Only async-profiler asks for perf events, and root need not be permitted. */
void doctor_perf(struct patient *p)
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

void doctor_seccomp(struct patient *p)
{
	int mode = status_number(p->pid, "\nSeccomp:"), ours = status_number(0, "\nSeccomp:");

	if (mode == 1)
		doctor_add_finding(
			p, SEVERITY_STOP, NULL, "Profile it without its sandbox.",
			"the process is in seccomp's strict mode, in which nothing can be written");
	else if (p->pid && mode == 2 && ours == 0 && p->config.sandbox == SANDBOX_LEAVE)
		doctor_add_finding(p, SEVERITY_STOP, NULL,
				   "Set ASPROF_AGENT_SANDBOX=stay, if its filter permits what the "
				   "agent calls.",
				   "the process is under a seccomp filter: profiling ends where a "
				   "program enters "
				   "one by itself");
	else if (mode == 2)
		doctor_add_finding(
			p, SEVERITY_NOTE, NULL,
			"Nothing needs to be done; kernel stacks need a filter that permits "
			"perf_event_open.",
			"under a seccomp filter, as in most containers, async-profiler samples by "
			"timers, without kernel stacks");
}
