/* Loads a library again and again, until a signal ends it. Prints its process id. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"

int main(void)
{
	void *library;

	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (;;) {
		library = dlopen("libm.so.6", RTLD_NOW);
		CHECK(library);
		CHECK(!dlclose(library));
	}
}
