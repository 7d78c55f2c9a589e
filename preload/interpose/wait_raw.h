/* Calls that wait, made by syscall(2): a sample ends them no more than those of the C library. */
#ifndef PRELOAD_INTERPOSE_WAIT_RAW_H
#define PRELOAD_INTERPOSE_WAIT_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/interpose/restart.h"

/* Those that a sample ends, in words of 64 numbers: a look there is all that other calls cost. */
#define WAIT_RAW_NUMBERS 512
extern const uint64_t wait_raw_numbers[WAIT_RAW_NUMBERS / 64];

static inline bool wait_raw_includes(long number)
{
	return (unsigned long)number < WAIT_RAW_NUMBERS &&
	       wait_raw_numbers[number / 64] >> (number % 64) & 1;
}

/* Make such a CALL. Returns what the kernel does. */
long wait_raw(const long call[TRANSFER_LONGS]);

#endif
