/* Numbers to spread by what would beat in time. Not for secrets. */
#ifndef CORE_RANDOM_H
#define CORE_RANDOM_H

#include <stdint.h>

/* Any number below BOUND, which is not 0. Async-signal-safe, any thread. */
uint64_t random_below(uint64_t bound);

#endif
