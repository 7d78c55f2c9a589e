/* Random numbers, to spread in time what many processes or threads would do at one moment. Not for
 * secrets. */
#ifndef CORE_RANDOM_H
#define CORE_RANDOM_H

#include <stdint.h>

/* A number below BOUND, which is not 0. Async-signal-safe, any thread. */
uint64_t random_below(uint64_t bound);

#endif
