/* The image's access to functions of the host's side and to the program's auxiliary vector. */
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

/* The C library caches the id of its first thread; the image may continue in another thread. */
pid_t gettid(void)
{
	return (pid_t)kernel_call4(SYS_gettid, 0, 0, 0, 0);
}

/* The C library's own returns the image's auxiliary vector. */
unsigned long getauxval(unsigned long kind)
{
	for (size_t i = 0; program && program->auxiliary[i][0] != AT_NULL; i++)
		if (program->auxiliary[i][0] == kind)
			return program->auxiliary[i][1];
	return 0;
}
