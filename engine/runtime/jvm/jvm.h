/* A Java machine, whose functions only async-profiler names: a run of its frames is shown as one, "[Java]". */
#ifndef ENGINE_RUNTIME_JVM_H
#define ENGINE_RUNTIME_JVM_H

#include "engine/runtime/runtime.h"

struct jvm {
	struct runtime runtime;
	bool named; /* another tells names of its functions (/tmp/perf-PID.map): they are left as they are */
};

#define JVM_NAME "[Java]"

/* Put NATIVE into OUT with one frame in place of each run of frames that are in no module. Returns how many there
 * are, or 0 where nothing is to be replaced. Async-signal-safe. */
size_t jvm_mix(const struct jvm *jvm, const struct native_frames *native, uintptr_t *out);

#endif
