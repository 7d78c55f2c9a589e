/* Java machine as found in this process. Only async-profiler names its functions; a run of its
 * frames is shown as one frame, "[Java]". */
#ifndef ENGINE_RUNTIME_JVM_H
#define ENGINE_RUNTIME_JVM_H

#include "engine/runtime/runtime.h"

struct jvm {
	struct runtime runtime;
	bool has_names; /* another agent provides names of its functions (/tmp/perf-PID.map): the frames stay as they are */
};

#define JVM_NAME "[Java]"

/* Copy NATIVE to OUT with one frame for each run of frames that are in no module. Returns the
 * number of frames, or 0 if there is no such run. Async-signal-safe. */
size_t jvm_mix(const struct jvm *jvm, const struct native_frames *native, uintptr_t *out);

#endif
