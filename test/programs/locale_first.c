/* A library whose constructor makes the first allocation, in newlocale(3), which holds the lock of
 * the C library's locales meanwhile. A request for an error's text then breaks that lock, and the
 * next setlocale(3) waits for ever. dlsym(3) makes such a request for an unknown name. */
#include <locale.h>

static locale_t ours;

static __attribute__((constructor)) void begin(void)
{
	ours = newlocale(LC_ALL_MASK, "C.UTF-8", NULL);
}

static __attribute__((destructor)) void end(void)
{
	if (ours)
		freelocale(ours);
}
