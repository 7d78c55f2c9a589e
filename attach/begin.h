/* Entry of the attached host's side. */
#ifndef ATTACH_BEGIN_H
#define ATTACH_BEGIN_H

#include <stdint.h>

struct attach_channel;

/* Called by attach_entry() in its thread, which the tracer has created. INITIAL_STACK is the program's: it points at argc.
 *
 * The thread ends after it has started the agent's thread, or when a step fails, which it logs. At the beginning of a
 * program (`run`; FROM_TRACER has no region) it first waits until the tracer has ended, and lets the program run. */
_Noreturn void attach_begin(uintptr_t *initial_stack, struct attach_channel *from_tracer);

#endif
