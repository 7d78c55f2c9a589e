/* Removes the preload's frames from the program's stacks. */
#include "engine/collect/program_stack.h"

#include "core/preload_code.h"
#include "engine/sample/ring.h"

/* Of the COUNT innermost frames, which are the preload's, keep the outermost that the program
 * called, if any. */
static size_t innermost(uintptr_t *out, const uintptr_t *pcs, size_t count)
{
	for (size_t i = count; i--;)
		if (preload_code_is_call(pcs[i] - !!i)) {
			out[0] = pcs[i] - !!i;
			return 1;
		}
	return 0;
}

size_t program_stack_strip(uintptr_t *out, const uintptr_t *pcs, size_t count)
{
	size_t ours = 0, kept;
	bool forwarded = false;

	while (ours < count && preload_code_has(pcs[ours] - !!ours))
		ours++;
	kept = innermost(out, pcs, ours);
	for (size_t i = ours; i < count; i++) {
		bool own = preload_code_has(pcs[i] - !!i),
		     call = own && preload_code_is_call(pcs[i] - !!i);

		if (!own || (call && forwarded)) {
			/* The innermost pc is the instruction itself: move it into the call. */
			out[kept] = pcs[i] - (i && !kept);
			kept++;
		}
		forwarded = own && (call || forwarded);
	}
	return kept;
}

uint32_t program_stack(struct jfr_writer *jfr, const uintptr_t *pcs, size_t count, bool truncated)
{
	static uintptr_t stripped[SAMPLE_DEPTH_MAX];

	if (count > SAMPLE_DEPTH_MAX)
		return jfr_stack(jfr, pcs, count, truncated);
	return jfr_stack(jfr, stripped, program_stack_strip(stripped, pcs, count), truncated);
}
