/* State of a thread, and the cause of its wait. */
#include "engine/wait/wait.h"

#include <stdlib.h>

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
