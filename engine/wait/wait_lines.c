/* Text of waits in recordings. */
#include "engine/wait/wait_lines.h"

#include "core/format.h"
#include "engine/wait/wait_calls.h"
#include "engine/wait/wait_object.h"

_Static_assert(WAIT_LINES_MAX > WAIT_OBJECT_MAX + 200, "the longest object and the other lines");

size_t wait_lines(const struct wait *wait, char lines[WAIT_LINES_MAX])
{
	const struct wait_call *call = wait->number >= 0 ? wait_call_find(wait->number) : NULL;
	size_t length;

	if (wait->state == WAIT_UNKNOWN)
		return 0;
	length = format_text(lines, WAIT_LINES_MAX, "state=%s\n", jfr_wait_states[wait->state]);
#define LINE(...) (length += format_text(lines + length, WAIT_LINES_MAX - length, __VA_ARGS__))
	if (wait->state != WAIT_WAITING)
		return length;
	LINE("cause=%s\n", jfr_wait_causes[wait_cause(wait)]);
	if (call)
		LINE("call=%s\n", call->name);
	else if (wait->number >= 0)
		LINE("call=%ld\n", wait->number);
	if (wait->object)
		LINE("on=%s\n", wait->object);
	else if (wait->cause == WAIT_CHILD && wait->owner)
		LINE("on=thread %d\n", wait->owner);
	else if (wait->cause == WAIT_LOCK && wait->lock)
		LINE("on=lock 0x%lx\n", (unsigned long)wait->lock);
	if ((wait->cause == WAIT_LOCK || wait->cause == WAIT_GIL) && wait->owner)
		LINE("owner=%d\n", wait->owner);
#undef LINE
	return length;
}
