/* Low-speed limit of a request. */
#include "upload/http/low_speed.h"

#define NS_PER_S 1000000000u

bool low_speed_check(struct low_speed *speed, uint64_t now_ns, uint64_t sent, uint64_t to_send,
		     uint64_t received)
{
	uint64_t bytes = sent + received;
	bool is_moving = sent < to_send || received;

	/* Fewer bytes than before: the request is sent again over another connection. */
	if (is_moving && speed->since_ns && bytes >= speed->bytes &&
	    bytes - speed->bytes < LOW_SPEED_BYTES_A_SECOND * LOW_SPEED_SECONDS)
		return now_ns - speed->since_ns >= (uint64_t)LOW_SPEED_SECONDS * NS_PER_S;
	*speed = (struct low_speed){ .since_ns = is_moving ? now_ns : 0, .bytes = bytes };
	return false;
}
