/* pthread_atfork(3) that loads with musl. The version that glibc links statically has a reference that musl's loader
 * cannot resolve, so the program would not start. */
#include <errno.h>
#include <pthread.h>

#include "core/loaded_symbol.h"

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
		      void *library) __attribute__((weak));
extern char __dso_handle __attribute__((visibility("hidden")));

typedef int at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	at_fork *other;

	if (__register_atfork)
		return __register_atfork(prepare, parent, child, &__dso_handle);
	*(void **)&other = loaded_symbol_next("pthread_atfork").address;
	return other ? other(prepare, parent, child) : ENOSYS;
}
