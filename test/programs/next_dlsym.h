/* For libraries to preload that replace dlsym(3): the C library's. */
#include <dlfcn.h>

#ifdef __x86_64__
#define OLDEST "GLIBC_2.2.5"
#else
#define OLDEST "GLIBC_2.17"
#endif

typedef void *find_symbol(void *handle, const char *name);

static find_symbol *next_dlsym(void)
{
	return (find_symbol *)dlvsym(RTLD_NEXT, "dlsym", OLDEST);
}
