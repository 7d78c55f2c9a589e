/* Profile of a running JVM by async-profiler: the JVM loads its library.
 *
 * HotSpot lets its own user load a library into it (the attach mechanism of its diagnostic tools). A child process does
 * that, with the rights of the JVM's user, and talks to the socket of that process only. The library stays loaded. */
#ifndef DECODER_LIVE_JVM_ATTACH_H
#define DECODER_LIVE_JVM_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/buf.h"

#define JVM_PROBLEM_MAX 512

/* True if process PID is a HotSpot JVM. */
bool jvm_is_hotspot(pid_t pid);

/* True if process PID is a HotSpot JVM that lets tools attach, and that sees the file LIBRARY at its path. */
bool jvm_can_load(pid_t pid, const char *library);

struct jvm_profile {
	pid_t pid;
	const char *library; /* absolute path of async-profiler's library */
	const char *events;  /* what to sample, as options of async-profiler */
	uint64_t ns;         /* how long */
};

/* Make PROFILE and append the recording (JFR) to RECORDING. Returns 0, or -errno with the reason in PROBLEM. */
int jvm_profile_make(const struct jvm_profile *profile, struct buf *recording,
		     char problem[JVM_PROBLEM_MAX]);

#endif
