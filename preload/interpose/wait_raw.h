/* Calls that wait or transfer bytes, made by syscall(2). As with the C library's functions, a sample does not end
 * them. */
#ifndef PRELOAD_INTERPOSE_WAIT_RAW_H
#define PRELOAD_INTERPOSE_WAIT_RAW_H

#include "preload/interpose/transfer.h"

/* Make CALL, one of these (wait_includes()), as syscall(2) does. */
long wait_raw(const long call[TRANSFER_LONGS]);

#endif
