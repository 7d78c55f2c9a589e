/* A program that protects its own ELF headers, against dumps. At the end of its input it prints "ok". */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/programs/check.h"

extern const char __ehdr_start __attribute__((visibility("hidden")));

int main(void)
{
	char byte;

	CHECK(!mprotect((void *)(uintptr_t)&__ehdr_start, 4096, PROT_NONE));
	printf("ready\n");
	fflush(stdout);
	CHECK(read(STDIN_FILENO, &byte, 1) == 0);
	puts("ok");
	return 0;
}
