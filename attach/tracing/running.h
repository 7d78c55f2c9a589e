/* Puts the attached host's side into a program that runs already, and removes it.
 *
 * One thread of the program is stopped for a few milliseconds and makes the system calls that this needs. Its registers,
 * its signal mask and the call that it waits in are as before afterwards. No code of the program is written, no page is
 * writable and executable at the same time, and no descriptor is opened in the program.
 *
 * A child process does it, in a session of its own: signals of the terminal do not end it. If it is killed nevertheless,
 * the thread restores itself, except during the first call of an attach, which maps memory, and the last call of a detach,
 * which unmaps it: for some microseconds each. */
#ifndef ATTACH_TRACING_RUNNING_H
#define ATTACH_TRACING_RUNNING_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach/tracing/inject.h"
#include "attach/tracing/tracee.h"

struct attached_range;

/* Both take the address of the VDSO of the program that the process must execute: tracee_find_vdso(), before the caller's
 * own checks. Another program of the process has another address.
 *
 * Start the agent in REQUEST's process. Returns 0 when its first thread is there, and *HAS_BEGUN if that has run; else -errno
 * with a line in PROBLEM, and the program is as before. -EALREADY: it has an agent, which another command may have started
 * meanwhile. -ESTALE: it executes another program now. */
int running_attach(const struct inject_request *request, uintptr_t vdso, bool *has_begun,
		   char problem[TRACEE_PROBLEM_MAX]);

/* Unmap RANGE, which the process itself has named, from process PID, whose agent has ended. First wait until no thread is in
 * that memory. Returns 0; -EBUSY when a thread stays in it: then it stays mapped; -ESTALE: it executes another program
 * now; or another -errno. Not 0: with a line in PROBLEM. */
int running_detach(pid_t pid, uintptr_t vdso, const struct attached_range *range,
		   char problem[TRACEE_PROBLEM_MAX]);

#endif
