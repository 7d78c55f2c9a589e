/* abort(), exit() and _Exit() of the image: each ends only the calling thread. */
#include "image/ending.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "core/kernel.h"

static _Atomic(void (*)(void)) abort_handler;

void image_on_abort(void (*handler)(void))
{
	atomic_store(&abort_handler, handler);
}

_Noreturn void image_end_thread(void)
{
	for (;;)
		kernel_call4(SYS_exit, 0, 0, 0, 0);
}

/* The C library calls it for an overwritten heap block or stack, and a linked library for a failed assertion. It may
 * run before the thread has a thread pointer. */
_Noreturn void abort(void)
{
	void (*handler)(void) = atomic_exchange(&abort_handler, NULL);

	if (handler)
		handler();
	image_end_thread();
}

/* After main() has returned. (The C library's own exit() leaves every stream locked.) */
_Noreturn void exit(int status)
{
	(void)status;
	image_end_thread();
}

_Noreturn void _Exit(int status)
{
	(void)status;
	image_end_thread();
}
