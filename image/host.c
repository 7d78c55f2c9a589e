/* The way from the image to the functions of the program's side, and to what the program was started with. */
#include "image/host.h"

#include <link.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/kernel.h"
#include "image/host_calls.h"

#define ONE(name) +1
#define COUNT     (0 HOST_CALLS(ONE))

extern const void *host_functions[COUNT] __attribute__((visibility("hidden")));
const void *host_functions[COUNT];

static const struct image_start *program;

void host_connect(const struct image_start *start)
{
	program = start;
	for (size_t i = 0; i < COUNT; i++)
		host_functions[i] = start->host[i];
}

/* The C library keeps the number of the thread that it began with, and another may go on in its place. */
pid_t gettid(void)
{
	return (pid_t)kernel_call4(SYS_gettid, 0, 0, 0, 0);
}

/* The C library's own would tell of the image. */
unsigned long getauxval(unsigned long kind)
{
	for (size_t i = 0; program && program->auxiliary[i][0] != AT_NULL; i++)
		if (program->auxiliary[i][0] == kind)
			return program->auxiliary[i][1];
	return 0;
}
