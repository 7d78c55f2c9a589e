/* Low-speed limit of a request: a body that moves slower is given up after 20 seconds. */
#ifndef UPLOAD_HTTP_LOW_SPEED_H
#define UPLOAD_HTTP_LOW_SPEED_H

#include <stdbool.h>
#include <stdint.h>

#define LOW_SPEED_BYTES_A_SECOND 512u
#define LOW_SPEED_SECONDS        20u

/* Start with zeros for each request. */
struct low_speed {
	uint64_t since_ns; /* start of the current measurement; 0: none */
	uint64_t bytes;    /* sent and received until then */
};

/* Take the state of a transfer: body bytes SENT of TO_SEND, and RECEIVED. Returns true if the request must be given
 * up. The wait between the two bodies has no limit here: a server may need that time for its response. */
bool low_speed_check(struct low_speed *speed, uint64_t now_ns, uint64_t sent, uint64_t to_send,
		     uint64_t received);

#endif
