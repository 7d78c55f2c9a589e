/* Loader of async-profiler's library. */
#include "asyncprof/engine_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asyncprof/replaced_calls.h"
#include "asyncprof/fd_calls.h"
#include "asyncprof/owner_process.h"
#include "asyncprof/import_table.h"
#include "asyncprof/library_path.h"
#include "asyncprof/loader_gate.h"
#include "asyncprof/memory_calls.h"
#include "core/agent/async_profiler.h"
#include "core/fd.h"
#include "core/old_symbol.h"
#include "core/memory/region.h"
#include "core/shared.h"
#include "core/start_environment.h"
#include "core/system.h"

OLD_SYMBOL(dladdr, "2.2.5")
OLD_SYMBOL(dlopen, "2.2.5")
OLD_SYMBOL(dlclose, "2.2.5")
OLD_SYMBOL(dlsym, "2.2.5")
OLD_SYMBOL(dlerror, "2.2.5")

static const struct {
	const char *name;
	size_t offset;
	bool optional; /* only since 4.0 */
} symbols[] = {
	{ "asprof_init", offsetof(struct engine_functions, init), false },
	{ "asprof_error_str", offsetof(struct engine_functions, error_str), false },
	{ "asprof_execute", offsetof(struct engine_functions, execute), false },
	{ "asprof_get_thread_local_data", offsetof(struct engine_functions, get_thread_local_data),
	  true },
	{ "asprof_register_jfr_event", offsetof(struct engine_functions, register_jfr_event),
	  true },
	{ "asprof_emit_jfr_event", offsetof(struct engine_functions, emit_jfr_event), true },
};

/* bridge/async_profiler.c */
#define BRIDGE_SYMBOL "asprof_agent_is_bridge"

/* async-profiler crashes if it cannot allocate memory at its start: 128 MiB with the symbols of a large program. Its
 * code and malloc's arenas (64 MiB for each thread) are not in the region. */
#define REGION_LEAST_BYTES ((size_t)128 << 20)
#define ROOM_BYTES         ((uint64_t)256 << 20)
#define DATA_ROOM_BYTES    ((uint64_t)128 << 20)

/* Set PROBLEM: the library cannot be used. */
__attribute__((format(printf, 2, 3))) static int problem_set(char *problem, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(problem, ENGINE_LIBRARY_PROBLEM_MAX, format, list);
	va_end(list);
	return -ELIBBAD;
}

/* Bytes that this process uses: address space, and data as RLIMIT_DATA counts it. Source: proc_pid_statm(5). */
struct memory_use {
	uint64_t space_bytes, data_bytes;
};

static struct memory_use memory_use_read(void)
{
	int fd = fd_raise(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), fields[6] = { 0 };
	char text[160] = "", *at = text;
	ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && length > 0; i++)
		fields[i] = strtoull(at, &at, 10);
	return (struct memory_use){ .space_bytes = fields[0] * page,
				    .data_bytes = fields[5] * page };
}

static bool limit_allows(int resource, uint64_t bytes)
{
	struct rlimit limit;

	return system_limit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	       bytes <= limit.rlim_cur;
}

/* False if the address space or the data is limited (ulimit -v, ulimit -d), and too little is free: the library does
 * not check all its allocations. */
static bool memory_limits_suffice(void)
{
	struct memory_use use;

	if (shared->region.start && region_free_bytes() < REGION_LEAST_BYTES)
		return false;
	if (limit_allows(RLIMIT_AS, UINT64_MAX) && limit_allows(RLIMIT_DATA, UINT64_MAX))
		return true;
	use = memory_use_read();
	return limit_allows(RLIMIT_AS, use.space_bytes + ROOM_BYTES) &&
	       limit_allows(RLIMIT_DATA, use.data_bytes + DATA_ROOM_BYTES);
}

/* Read the library before the dynamic linker does: a fork waits for its lock, and should not wait for a disk. Returns
 * false for a FIFO or a device, where the dynamic linker could wait for ever. */
static bool library_read_ahead(const char *path)
{
	int fd = fd_raise(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	struct stat st;
	bool is_file;

	if (fd < 0)
		return true; /* the dynamic linker finds the reason */
	is_file = !system_stat(fd, &st) && S_ISREG(st.st_mode);
	if (is_file)
		readahead(fd, 0, (size_t)st.st_size);
	close(fd);
	return is_file;
}

static int functions_fill_in(struct engine_functions *functions, void *handle, const char *library,
			     char *problem)
{
	if (dlsym(handle, BRIDGE_SYMBOL)) {
		problem_set(problem, "%s has no profiler: it is the bridge for pollcatch", library);
		return -ENOENT;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(handle, symbols[i].name);

		if (!symbol && !symbols[i].optional)
			return problem_set(problem,
					   "%s is not async-profiler's library: it has no %s",
					   library, symbols[i].name);
		memcpy((char *)functions + symbols[i].offset, &symbol, sizeof(symbol));
	}
	return 0;
}

/* The library that this thread is loading, until its constructors run. */
static __thread const char *loading;

void async_profiler_on_library_constructor(const void *inside)
{
	static const struct import early[] = {
		{ "getenv", (void *)start_environment_get },
		{ "mmap", (void *)engine_mmap },
		{ "munmap", (void *)engine_munmap },
		{ "syscall", (void *)engine_syscall },
	};
	Dl_info info;

	/* (Libraries that it depends on have constructors too.) */
	if (!loading || !dladdr(inside, &info) || strcmp(info.dli_fname, loading) != 0)
		return;
	loading = NULL;
	import_table_redirect(inside, early, sizeof(early) / sizeof(early[0]));
	memory_calls_install(inside);
}

static int library_load(struct engine_functions *functions, const char *library, const char *path,
			char *problem)
{
	void *handle;

	loading = path;
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	loading = NULL;
	if (!handle)
		return problem_set(problem, "cannot load %s: %s", library, dlerror());
	return functions_fill_in(functions, handle, library, problem);
}

static const char *java_file(const char *library)
{
	return engine_library_is_configured(library) ? NULL : ASYNC_PROFILER_JAVA_FILE;
}

int engine_library_open(struct engine_functions *functions, const char *library, bool for_java,
			char *problem)
{
	char path[PATH_MAX];
	int err;

	if (*library != '/')
		err = library_path_find(path, library, for_java ? java_file(library) : NULL);
	else
		err = realpath(library, path) ? 0 : -errno;
	if (err == -ENOENT)
		return problem_set(problem, "cannot find %s", library), err;
	if (err)
		return problem_set(problem, "cannot load %s: %s", library, strerror(-err));
	if (!memory_limits_suffice())
		return problem_set(problem,
				   "the process's limits (ulimit -v, ulimit -d) leave too little "
				   "memory for %s; "
				   "ASPROF_AGENT_ENGINE=builtin needs less",
				   library);
	if (!library_read_ahead(path))
		return problem_set(problem, "cannot load %s: it is not a regular file", library);
	owner_process_set();
	loader_gate_enter();
	err = library_load(functions, library, path, problem);
	loader_gate_leave();
	if (err)
		return err;
	err = replaced_calls_install((const void *)(uintptr_t)functions->execute);
	if (err)
		return problem_set(problem, "cannot separate %s from the program: %s", library,
				   strerror(-err));
	return 0;
}

bool engine_library_is_bridge(const char *path)
{
	void *handle;
	bool is_bridge;

	loader_gate_enter();
	handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	is_bridge = handle && dlsym(handle, BRIDGE_SYMBOL);
	if (handle)
		dlclose(handle);
	loader_gate_leave();
	return is_bridge;
}

bool engine_library_is_configured(const char *library)
{
	return strcmp(library, "libasyncProfiler.so") != 0;
}

bool engine_library_is_likely(const char *library)
{
	return *library == '/' ? !access(library, R_OK)
			       : library_path_is_likely(library, java_file(library));
}
