/* abort(), exit() and _Exit() of the image: each ends the thread that calls it, and no other. */
#include "image/ending.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "core/kernel.h"

static _Atomic(void (*)(void)) told;

void image_on_abort(void (*tell)(void))
{
	atomic_store(&told, tell);
}

_Noreturn void image_end_thread(void)
{
	for (;;)
		kernel_call4(SYS_exit, 0, 0, 0, 0);
}

/* The C library calls it for a block of memory or a stack that it finds overwritten, and so does what a
 * library asserts. It may run before the thread has a thread pointer. */
_Noreturn void abort(void)
{
	void (*tell)(void) = atomic_exchange(&told, NULL);

	if (tell)
		tell();
	image_end_thread();
}

/* When main() has returned. (The C library's own would leave every stream locked.) */
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
