/* CPython's global interpreter lock. Agent thread only. */
#ifndef ENGINE_RUNTIME_PYTHON_GIL_H
#define ENGINE_RUNTIME_PYTHON_GIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/runtime/python/python.h"

/* Whether FUTEX is part of the main interpreter's lock, for which threads wait. Then *HOLDER is the thread that holds the lock; 0: none, or not known. */
bool python_gil_at(const struct python *python, uintptr_t futex, pid_t *holder);

#endif
