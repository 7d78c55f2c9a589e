/* Detection of Java processes. */
#include "asyncprof/java.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/agent_phase.h"
#include "core/clock.h"
#include "core/privileges.h"
#include "core/shared.h"
#include "engine/process/proc_file.h"
#include "engine/process/tids.h"

#define PATIENCE_NS 10000000000u
#define STEP_NS     20000000u

/* Name of the last thread that the Java VM starts, when tools may attach (OpenJDK, Threads::create_vm,
 * WatcherThread::start), as the kernel truncates it. */
#define LAST_THREAD "VM Periodic Tas"

bool java_is_loaded(void)
{
	char line[PATH_MAX + 128];
	bool java = false;
	FILE *maps = proc_file_open("/proc/self/maps");

	while (maps && !java && fgets(line, sizeof(line), maps))
		java = strstr(line, "/libjvm.so") || strstr(line, "/libjli.so");
	if (maps)
		fclose(maps);
	return java;
}

static bool thread_is_named(pid_t tid, const char *name)
{
	char comm[32];

	if (proc_file_read_of(tid, "comm", comm, sizeof(comm)) < 0)
		return false;
	comm[strcspn(comm, "\n")] = '\0';
	return !strcmp(comm, name);
}

static bool java_has_started(void)
{
	pid_t *tids = NULL;
	ssize_t count = tids_list(&tids);
	bool up = count < 0; /* unknown */

	for (ssize_t i = 0; i < count && !up; i++)
		up = thread_is_named(tids[i], LAST_THREAD);
	free(tids);
	return up;
}

bool java_wait_until_started(struct wake *wake, const atomic_bool *is_exiting, bool *has_started)
{
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS, now_ns;
	bool woken = false, goes_on = true;

	while (goes_on && !(*has_started = java_has_started()) &&
	       (now_ns = clock_monotonic_ns()) < end_ns) {
		privileges_follow(false);
		woken |= wake_wait(wake, now_ns + STEP_NS);
		goes_on = !(atomic_load(&shared->agent.state) & AGENT_STOP) &&
			  !atomic_load(is_exiting);
	}
	if (woken)
		wake_up(wake);
	return goes_on;
}

/* Return the number of the sleep that thread TID is in; 0 if it runs, or this is unknown. */
static uint64_t thread_sleep_number(pid_t tid)
{
	static const char count[] = "\nvoluntary_ctxt_switches:";
	char text[4096];
	const char *at;

	if (proc_file_read_of(tid, "status", text, sizeof(text)) < 0 ||
	    !strstr(text, "\nState:\tS"))
		return 0;
	at = strstr(text, count);
	return at ? strtoull(at + strlen(count), NULL, 10) : 0;
}

bool java_blocks(pid_t tid, struct java_sleep *sleep)
{
	uint64_t number = thread_sleep_number(tid), now_ns = clock_monotonic_ns();

	if (number && number == sleep->number)
		return now_ns - sleep->since_ns >= JAVA_BLOCKED_NS;
	*sleep = (struct java_sleep){ number, now_ns };
	return false;
}
