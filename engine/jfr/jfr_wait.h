/* State and wait cause of one wall-clock sample. */
#ifndef ENGINE_JFR_JFR_WAIT_H
#define ENGINE_JFR_JFR_WAIT_H

#include <stdint.h>

struct jfr_wait {
	uint32_t description;    /* of jfr_wait_description(); 0: unknown */
	uint32_t owner_stack;    /* of jfr_stack(): stack of the lock's owner; 0: none */
	uint64_t owner_delay_ns; /* from the sample to the owner's stack */
};

#endif
