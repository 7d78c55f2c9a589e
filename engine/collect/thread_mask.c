/* Signal masks of the program's threads, from /proc. */
#include "engine/collect/thread_mask.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/timer/thread_timer.h"
#include "engine/process/proc_file.h"
#include "engine/reading/process_memory.h"
#include "engine/sample/thread_call.h"

static bool set_has(uint64_t set, int signo)
{
	return set >> (signo - 1) & 1;
}

bool thread_mask_has(pid_t tid, int signo)
{
	static const char name[] = "\nSigBlk:";
	char text[4096], *line;

	if (proc_file_read_of(tid, "status", text, sizeof(text)) <= 0)
		return false;
	line = strstr(text, name);
	return line && set_has(strtoull(line + strlen(name), NULL, 16), signo);
}

static bool call_takes(const struct thread_call *call, int signo)
{
	uint64_t set;

	return call->number == SYS_rt_sigtimedwait &&
	       !process_memory_read(call->arguments[0], &set, sizeof(set)) && set_has(set, signo);
}

/* What is read of a thread is of one moment if it is in a call, and has not run meanwhile. A thread that computes runs. */
enum signal_hold thread_mask_hold(pid_t tid, int signo)
{
	uint64_t began_ns = thread_timer_cpu_ns(tid);
	bool is_blocked = thread_mask_has(tid, signo), is_in_call, has_run;
	struct thread_call call;
	char text[256];

	if (is_blocked)
		return SIGNAL_HELD;
	if (proc_file_read_of(tid, "syscall", text, sizeof(text)) <= 0)
		return SIGNAL_NOT_HELD;
	is_in_call = thread_call_parse(&call, text);
	if (is_in_call && call_takes(&call, signo))
		return SIGNAL_HELD_ALWAYS;
	has_run = thread_timer_cpu_ns(tid) != began_ns;
	return is_in_call == has_run ? SIGNAL_MAY_BE_HELD : SIGNAL_NOT_HELD;
}
