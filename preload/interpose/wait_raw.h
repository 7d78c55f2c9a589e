/* Calls that wait or transfer bytes, made by syscall(2). As with the C library's functions, a sample does not end
 * them. */
#ifndef PRELOAD_INTERPOSE_WAIT_RAW_H
#define PRELOAD_INTERPOSE_WAIT_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/interpose/transfer.h"

/* A bit for each of these system calls, so that other calls only cost one load. */
#define WAIT_RAW_NUMBERS 512
extern const uint64_t wait_raw_numbers[WAIT_RAW_NUMBERS / 64];

static inline bool wait_raw_includes(long number)
{
	return (unsigned long)number < WAIT_RAW_NUMBERS &&
	       wait_raw_numbers[number / 64] >> (number % 64) & 1;
}

/* Make CALL, one of these, as syscall(2) does. */
long wait_raw(const long call[TRANSFER_LONGS]);

#endif
