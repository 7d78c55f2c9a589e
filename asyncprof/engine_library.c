/* async-profiler's library, by dlopen(3). */
#include "asyncprof/engine_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asyncprof/replaced_calls.h"
#include "asyncprof/owner_process.h"
#include "asyncprof/import_table.h"
#include "asyncprof/library_path.h"
#include "asyncprof/loader_gate.h"
#include "asyncprof/memory_calls.h"
#include "core/fd.h"
#include "core/old_symbol.h"
#include "core/start_environment.h"
#include "core/system.h"

OLD_SYMBOL(dladdr, "2.2.5")
OLD_SYMBOL(dlopen, "2.2.5")
OLD_SYMBOL(dlsym, "2.2.5")
OLD_SYMBOL(dlerror, "2.2.5")

static const struct {
	const char *name;
	size_t offset;
	bool optional; /* since 4.0 only */
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

/* It crashes where it gets less than it takes at its start, 128 MiB with the symbols of a large program; and where malloc
 * has 64 MiB of addresses for each thread, the one that loads it gets them, which the program would lack. */
#define ROOM_BYTES (512u << 20)

/* Describe what makes the library useless. */
__attribute__((format(printf, 2, 3))) static int bad(char *problem, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(problem, ENGINE_LIBRARY_PROBLEM_MAX, format, list);
	va_end(list);
	return -ELIBBAD;
}

/* False where the address space is limited (ulimit -v), and what is left is too little. */
static bool heap_reserve(void)
{
	void *room = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED)
		return false;
	munmap(room, ROOM_BYTES);
	return true;
}

/* So that the loader, whose lock a fork waits for, does not wait for a disk. */
static void library_read_ahead(const char *path)
{
	int fd = fd_raise(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	struct stat st;

	if (fd < 0)
		return;
	if (!system_stat(fd, &st) && S_ISREG(st.st_mode))
		readahead(fd, 0, (size_t)st.st_size);
	close(fd);
}

static int functions_fill_in(struct engine_functions *functions, void *handle, const char *library,
			     char *problem)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(handle, symbols[i].name);

		if (!symbol && !symbols[i].optional)
			return bad(problem, "%s is not async-profiler's library: it has no %s",
				   library, symbols[i].name);
		memcpy((char *)functions + symbols[i].offset, &symbol, sizeof(symbol));
	}
	return 0;
}

/* What this thread loads; its constructors have not been seen yet. */
static __thread const char *loading;

void async_profiler_on_library_constructor(const void *inside)
{
	static const struct import environment[] = { { "getenv", (void *)start_environment_get } };
	Dl_info info;

	/* (A library that it needs has constructors of its own.) */
	if (!loading || !dladdr(inside, &info) || strcmp(info.dli_fname, loading) != 0)
		return;
	loading = NULL;
	import_table_redirect(inside, environment, 1);
	memory_redirect(inside);
}

static int library_load(struct engine_functions *functions, const char *library, const char *path,
			char *problem)
{
	void *handle;

	loading = path;
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	loading = NULL;
	if (!handle)
		return bad(problem, "cannot load %s: %s", library, dlerror());
	return functions_fill_in(functions, handle, library, problem);
}

int engine_library_open(struct engine_functions *functions, const char *library, char *problem)
{
	char path[PATH_MAX];
	int err;

	if (*library != '/')
		err = library_path_find(path, library);
	else
		err = realpath(library, path) ? 0 : -errno;
	if (err == -ENOENT)
		return bad(problem, "cannot find %s", library), err;
	if (err)
		return bad(problem, "cannot load %s: %s", library, strerror(-err));
	if (!heap_reserve())
		return bad(problem, "there is no room for %s in the address space", library);
	library_read_ahead(path);
	owner_process_set();
	loader_gate_enter();
	err = library_load(functions, library, path, problem);
	loader_gate_leave();
	if (err)
		return err;
	err = replaced_calls_install((const void *)(uintptr_t)functions->execute);
	if (err)
		return bad(problem, "cannot keep %s out of the program's way: %s", library,
			   strerror(-err));
	return 0;
}

bool engine_library_is_configured(const char *library)
{
	return strcmp(library, "libasyncProfiler.so") != 0;
}

bool engine_library_is_likely(const char *library)
{
	return *library == '/' ? !access(library, R_OK) : library_path_is_likely(library);
}
