/* What async-profiler calls instead of the C library's functions. */
#include "core/engine_calls.h"

#include <sys/resource.h>

#include "core/engine_env.h"
#include "core/engine_files.h"
#include "core/engine_sleep.h"
#include "core/imports.h"

/* It would raise the limit of descriptors at its start: see core/engine_files.c. */
static int engine_setrlimit(unsigned int resource, const struct rlimit *limit)
{
	return resource == RLIMIT_NOFILE ? 0 : setrlimit((__rlimit_resource_t)resource, limit);
}

void engine_calls_forget(void)
{
	engine_files_forget();
}

int engine_calls_redirect(const void *inside)
{
	static const struct import calls[] = {
		{ "syscall", (void *)engine_syscall },
		{ "open", (void *)engine_open },
		{ "open64", (void *)engine_open },
		{ "creat", (void *)engine_creat },
		{ "creat64", (void *)engine_creat },
		{ "close", (void *)engine_close },
		{ "read", (void *)engine_read },
		{ "write", (void *)engine_write },
		{ "pwrite", (void *)engine_pwrite },
		{ "pwrite64", (void *)engine_pwrite },
		{ "lseek", (void *)engine_lseek },
		{ "lseek64", (void *)engine_lseek },
		{ "ftruncate", (void *)engine_ftruncate },
		{ "ftruncate64", (void *)engine_ftruncate },
		{ "posix_fadvise", (void *)engine_fadvise },
		{ "posix_fadvise64", (void *)engine_fadvise },
		{ "sendfile", (void *)engine_sendfile },
		{ "sendfile64", (void *)engine_sendfile },
		{ "mmap", (void *)engine_mmap },
		{ "mmap64", (void *)engine_mmap },
		{ "fcntl", (void *)engine_fcntl },
		{ "fcntl64", (void *)engine_fcntl },
		{ "ioctl", (void *)engine_ioctl },
		{ "pipe", (void *)engine_pipe },
		{ "socket", (void *)engine_socket },
		{ "fopen", (void *)engine_fopen },
		{ "fopen64", (void *)engine_fopen },
		{ "fdopen", (void *)engine_fdopen },
		{ "opendir", (void *)engine_opendir },
		{ "readdir", (void *)engine_readdir },
		{ "readdir64", (void *)engine_readdir },
		{ "rewinddir", (void *)engine_rewinddir },
		{ "closedir", (void *)engine_closedir },
		{ "setrlimit", (void *)engine_setrlimit },
		{ "setrlimit64", (void *)engine_setrlimit },
		{ "getenv", (void *)engine_getenv },
		{ "clock_nanosleep", (void *)engine_sleep },
		{ "pthread_kill", (void *)engine_wake },
	};

	return imports_redirect(inside, calls, sizeof(calls) / sizeof(calls[0]));
}
