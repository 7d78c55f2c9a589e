/* Random numbers, to spread actions of many processes or threads over time. Not for secrets. */
#ifndef CORE_RANDOM_H
#define CORE_RANDOM_H

#include <stdint.h>

/* Return a random number below BOUND. BOUND must not be 0. Any thread. Async-signal-safe. */
uint64_t random_below(uint64_t bound);

#endif
