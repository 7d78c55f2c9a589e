/* The return address of functions that makecontext(3) starts. */
#ifndef ENGINE_CFI_CONTEXT_START_H
#define ENGINE_CFI_CONTEXT_START_H

#include <stdint.h>

/* The address of that code: the outermost frame of each such context, although its unwind
 * information does not say so. Returns 0 where the C library makes no contexts. */
uintptr_t context_start(void);

#endif
