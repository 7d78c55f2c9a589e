/* Arguments of io_uring_enter(2), from <linux/io_uring.h>, which older systems lack. */
#ifndef ENGINE_SAMPLE_RING_WAIT_H
#define ENGINE_SAMPLE_RING_WAIT_H

#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_io_uring_enter
#define SYS_io_uring_enter 426
#endif

/* Positions of arguments. With RING_HAS_STRUCT the second one is the address of a struct ring_wait. */
#define RING_FLAGS  3
#define RING_STRUCT 4

#define RING_WAITS       (1u << 0)
#define RING_HAS_STRUCT  (1u << 3)
#define RING_IS_ABSOLUTE (1u << 5) /* the time */
#define RING_HAS_INDEX   (1u << 6) /* of a structure in memory that was registered before */

/* struct io_uring_getevents_arg */
struct ring_wait {
	uint64_t mask; /* address */
	uint32_t mask_bytes, shortest_us;
	uint64_t time; /* address of a struct timespec; 0: no limit */
};

#endif
