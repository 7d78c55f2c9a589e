/* Entry of the attached host's side. */
#ifndef ATTACH_BEGIN_H
#define ATTACH_BEGIN_H

#include <stdint.h>

struct attach_channel;

/* Called by attach_entry() in its thread, which the tracer has created. INITIAL_STACK is the program's, from its number of
 * arguments on. The thread ends after the agent's thread has started and the tracer has ended. */
_Noreturn void attach_begin(uintptr_t *initial_stack, struct attach_channel *from_tracer);

#endif
