/* Replacements for functions of the C library that async-profiler calls. */
#include "asyncprof/replaced_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "asyncprof/fd_proxy.h"
#include "asyncprof/fd_calls.h"
#include "asyncprof/owner_process.h"
#include "asyncprof/import_table.h"
#include "asyncprof/java_vm.h"
#include "asyncprof/loader_gate.h"
#include "asyncprof/memory_calls.h"
#include "asyncprof/sleep_calls.h"
#include "asyncprof/stream_calls.h"
#include "core/clock.h"
#include "core/old_symbol.h"
#include "core/own_thread.h"
#include "core/start_environment.h"
#include "core/system.h"

OLD_SYMBOL(pthread_mutex_trylock, "2.2.5")
OLD_SYMBOL(dlopen, "2.2.5")
OLD_SYMBOL(dlclose, "2.2.5")
OLD_SYMBOL(dlsym, "2.2.5")
OLD_SYMBOL(dladdr, "2.2.5")
OLD_SYMBOL(dlinfo, "2.3.3")

/* async-profiler raises the limit of descriptors when it starts: fd_calls.c does it when it is necessary. */
static int engine_setrlimit(unsigned int resource, const struct rlimit *limit)
{
	return resource == RLIMIT_NOFILE ? 0 : setrlimit((__rlimit_resource_t)resource, limit);
}

/* The C library's functions. async-profiler hooks the imports of other libraries, also those of this library. A call
 * of dlopen(3) by our import would enter that hook, which takes its locks in another order. */
static struct {
	__typeof__(&dlopen) dlopen;
	__typeof__(&pthread_mutex_lock) lock;
} real;

/* Each call of the dynamic linker is in the gate, not the whole start, so that a fork waits for one call at most.
 * Threads of the program that come here are in their own dlopen(3). */
#define GATED(type, call)                     \
	do {                                  \
		bool gated = own_thread_is(); \
		type result_;                 \
                                              \
		if (gated)                    \
			loader_gate_enter();  \
		result_ = call;               \
		if (gated)                    \
			loader_gate_leave();  \
		return result_;               \
	} while (0)

static void *engine_dlopen(const char *file, int flags)
{
	GATED(void *, real.dlopen(file, flags));
}

static int engine_dlclose(void *handle)
{
	GATED(int, dlclose(handle));
}

static int engine_dladdr(const void *address, Dl_info *info)
{
	GATED(int, dladdr(address, info));
}

static int engine_dlinfo(void *handle, int request, void *info)
{
	GATED(int, dlinfo(handle, request, info));
}

static void *engine_dlsym(void *handle, const char *name)
{
	/* async-profiler's hook receives the program's calls first. It must forward to our interposer. */
	if (handle == RTLD_NEXT && strcmp(name, "pthread_create") == 0)
		return (void *)pthread_create;
	/* RTLD_NEXT refers to the caller, which may be async-profiler's library or this one; both are before the
	 * searched library. There are three such calls, of some microseconds. */
	if (handle == RTLD_NEXT)
		return dlsym(handle, name);
	GATED(void *, dlsym(handle, name));
}

static void *engine_dlsym_or_replacement(void *handle, const char *name)
{
	void *found = engine_dlsym(handle, name);

	return strcmp(name, "JNI_GetCreatedJavaVMs") ? found : java_vm_replace_find(found);
}

/* In a forked child the locks may be held by threads that do not exist there. The data that they guard does not
 * change there: async-profiler can open nothing that it would read. */
static int engine_lock(pthread_mutex_t *mutex)
{
	return owner_process_is_other() ? 0 : real.lock(mutex);
}

static int engine_trylock(pthread_mutex_t *mutex)
{
	return owner_process_is_other() ? 0 : pthread_mutex_trylock(mutex);
}

static int engine_unlock(pthread_mutex_t *mutex)
{
	return owner_process_is_other() ? 0 : pthread_mutex_unlock(mutex);
}

void replaced_calls_reset_in_child(void)
{
	owner_process_reset_in_child();
	fd_proxy_reset_in_child();
}

/* async-profiler compares its clocks with the kernel's, so it gets the kernel's clock: another preload may change
 * the clock for the program. */
static int engine_clock_gettime(clockid_t clock, struct timespec *now)
{
	int err = clock_read(clock, now);

	if (!err)
		return 0;
	errno = -err;
	return -1;
}

static int engine_gettimeofday(struct timeval *now, void *zone)
{
	uint64_t us = clock_realtime_ns() / 1000;

	(void)zone;
	*now = (struct timeval){ .tv_sec = (time_t)(us / 1000000),
				 .tv_usec = (suseconds_t)(us % 1000000) };
	return 0;
}

static time_t engine_time(time_t *now)
{
	time_t seconds = (time_t)(clock_realtime_ns() / 1000000000u);

	if (now)
		*now = seconds;
	return seconds;
}

/* async-profiler unblocks these two signals in each thread that starts, because its samples may use them. Here they
 * do not (preload/interpose/action.c). A thread of the program may have blocked them on purpose. In a thread of
 * async-profiler the program's handlers would run with the engine's descriptors. */
static int engine_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t asked;

	if (how != SIG_UNBLOCK || !set)
		return pthread_sigmask(how, set, old);
	asked = *set;
	sigdelset(&asked, SIGPROF);
	sigdelset(&asked, SIGVTALRM);
	return pthread_sigmask(how, &asked, old);
}

int replaced_calls_install(const void *inside)
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
		{ "munmap", (void *)engine_munmap },
		{ "fcntl", (void *)engine_fcntl },
		{ "fcntl64", (void *)engine_fcntl },
		{ "ioctl", (void *)engine_ioctl },
		{ "pipe", (void *)engine_pipe },
		{ "socket", (void *)engine_socket },
		{ "setrlimit", (void *)engine_setrlimit },
		{ "setrlimit64", (void *)engine_setrlimit },
		{ "dlopen", (void *)engine_dlopen },
		{ "dlclose", (void *)engine_dlclose },
		{ "dladdr", (void *)engine_dladdr },
		{ "dlinfo", (void *)engine_dlinfo },
		{ "dlsym", (void *)engine_dlsym_or_replacement },
		{ "pthread_mutex_lock", (void *)engine_lock },
		{ "pthread_mutex_trylock", (void *)engine_trylock },
		{ "pthread_mutex_unlock", (void *)engine_unlock },
		{ "getenv", (void *)start_environment_get },
		{ "clock_nanosleep", (void *)engine_sleep },
		{ "pthread_cond_timedwait", (void *)engine_wait },
		{ "pthread_cond_signal", (void *)engine_signal },
		{ "clock_gettime", (void *)engine_clock_gettime },
		{ "gettimeofday", (void *)engine_gettimeofday },
		{ "time", (void *)engine_time },
		{ "pthread_kill", (void *)engine_wake },
		{ "pthread_sigmask", (void *)engine_sigmask },
	};
	int err;

	real.dlopen = dlopen;
	real.lock = pthread_mutex_lock;
	err = memory_calls_install(inside);
	if (!err)
		err = stream_calls_install(inside);
	return err ? err : import_table_redirect(inside, calls, sizeof(calls) / sizeof(calls[0]));
}
