/* States of sampled threads and causes of waits. */
#include "engine/jfr/jfr_wait_kinds.h"

const char *const jfr_wait_states[WAIT_STATES] = {
	[WAIT_UNKNOWN] = "unknown",
	[WAIT_RUNNING] = "running",
	[WAIT_RUNNABLE] = "runnable",
	[WAIT_WAITING] = "waiting",
};

const char *const jfr_wait_classes[WAIT_CLASSES] = {
	[WAIT_CLASS_LOCK] = "lock",           [WAIT_CLASS_IO] = "io",
	[WAIT_CLASS_CONDITION] = "condition", [WAIT_CLASS_IDLE] = "idle",
	[WAIT_CLASS_OTHER] = "other",
};

const char *const jfr_wait_causes[WAIT_CAUSES] = {
#define CAUSE(constant, name, ...) [WAIT_##constant] = name,
	WAIT_CAUSE_TABLE(CAUSE)
#undef CAUSE
};

const enum wait_class jfr_wait_class_of[WAIT_CAUSES] = {
#define CAUSE(constant, name, class, ...) [WAIT_##constant] = WAIT_CLASS_##class,
	WAIT_CAUSE_TABLE(CAUSE)
#undef CAUSE
};
