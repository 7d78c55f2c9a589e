/* Recognizes system calls that wait for the server of a FUSE file system. The kernel tells the server of a signal, and
 * many servers then end the request: the call returns EINTR, whatever the handler's flags are. So no sample may interrupt
 * such a call. Agent thread only.
 *
 * File systems: /proc/PID/mountinfo, proc_pid_mountinfo(5). Requests: fs/fuse/dev.c of Linux, request_wait_answer(). */
#ifndef ENGINE_WAIT_FUSE_CALL_H
#define ENGINE_WAIT_FUSE_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/sample/thread_call.h"

/* True if thread TID waits in a call, stored in CALL, that may wait for such a server. With a descriptor, its file
 * system decides. Calls with a path count if any FUSE file system is mounted. New mounts are found within a second, or
 * later where mountinfo takes more than a millisecond to read. */
bool fuse_call_find(pid_t tid, struct thread_call *call);

/* The same for CALL of TID, where the FUSE file systems are those of MOUNTINFO. For tests. */
bool fuse_call_is_one(pid_t tid, const struct thread_call *call, const char *mountinfo);

#endif
