/* State of a thread, and the cause of its wait. */
#include "engine/wait/wait.h"

#include <stdlib.h>

#include "engine/sample/ready_wait.h"

enum wait_cause wait_cause(const struct wait *wait)
{
	bool is_timer = wait->end == READY_WAIT_UNKNOWN ? wait->has_timeout
							: wait->end == READY_WAIT_TIMED_OUT;

	return wait->cause == WAIT_IDLE && is_timer ? WAIT_TIMER : (enum wait_cause)wait->cause;
}

bool wait_is_same_place(const struct wait *wait, const struct wait *other)
{
	return wait->state == other->state && wait->sp == other->sp && wait->first == other->first;
}

void wait_clear(struct wait *wait)
{
	free(wait->object);
	*wait = (struct wait){ 0 };
}

void wait_move(struct wait *to, struct wait *from)
{
	wait_clear(to);
	*to = *from;
	*from = (struct wait){ 0 };
}
