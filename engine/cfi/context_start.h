/* Where makecontext(3) has the function of a new context return to. */
#ifndef ENGINE_CFI_CONTEXT_START_H
#define ENGINE_CFI_CONTEXT_START_H

#include <stdint.h>

/* The address of that code, which is the outermost frame of each such context though its unwind
 * information does not say so; 0 where the C library makes no contexts. */
uintptr_t context_start(void);

#endif
