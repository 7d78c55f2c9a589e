/* A library whose constructor is the first to allocate, in newlocale(3), which holds the lock of
 * the C library's locales meanwhile: who asks for the text of an error then, as dlsym(3) does for a
 * name that there is none, leaves that lock broken, and the next setlocale(3) waits for ever. */
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
