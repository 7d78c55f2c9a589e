/* One frame for all Java frames between two native functions. */
#include "core/preload_code.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/jvm/jvm.h"
#include "engine/unwind/unwind.h"

/* Fingerprint of the function "[Java]" in the frame table; other fingerprints are hashes of contents. */
#define FINGERPRINT 0x6a766dffffffffffu

size_t jvm_mix(const struct jvm *jvm, const struct native_frames *native, uintptr_t *out)
{
	bool fresh, java, before = false, found = false;
	uintptr_t frame = 0, pc;
	uint32_t function;
	size_t count = 0;

	if (jvm->has_names)
		return 0;
	for (size_t i = 0; i < native->count; i++) {
		pc = native->pcs[i];
		java = pc != STACK_CALLERS_UNKNOWN &&
		       unwind_is_made_code(pc - !(native->is_exact && !i));
		if (java && !found) {
			function = frame_table_function(FINGERPRINT, &fresh);
			if (fresh)
				frame_table_describe(function, JFR_FRAME_NATIVE, JVM_NAME, "");
			frame = frame_table_place(function, 0, &fresh);
			found = true;
		}
		if (!java || !before)
			out[count++] = java ? frame : pc;
		before = java;
	}
	return found ? count : 0;
}
