/* pthread_atfork(3), in place of the one that glibc links in statically: that one has a reference which
 * musl's loader cannot resolve, and would not start the program for. */
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
