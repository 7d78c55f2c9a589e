/* pthread_atfork(3), in place of the one that the C library links in statically: that one has a
 * reference which musl's loader cannot resolve, and would not start the program for. */
#include <errno.h>
#include <pthread.h>

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
		      void *library) __attribute__((weak));
extern char __dso_handle __attribute__((visibility("hidden")));

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	return __register_atfork ? __register_atfork(prepare, parent, child, &__dso_handle)
				 : ENOSYS;
}
