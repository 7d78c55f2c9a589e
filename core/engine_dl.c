/* async-profiler as an engine, by dlopen(3). */
#include "core/engine_dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/engine_calls.h"

static const struct {
	const char *name;
	size_t offset;
	bool optional; /* since 4.0 only */
} symbols[] = {
	{ "asprof_init", offsetof(struct engine, init), false },
	{ "asprof_error_str", offsetof(struct engine, error_str), false },
	{ "asprof_execute", offsetof(struct engine, execute), false },
	{ "asprof_get_thread_local_data", offsetof(struct engine, get_thread_local_data), true },
	{ "asprof_register_jfr_event", offsetof(struct engine, register_jfr_event), true },
	{ "asprof_emit_jfr_event", offsetof(struct engine, emit_jfr_event), true },
};

/* What it takes at its start, with the symbols of a large program; it crashes where it gets less. */
#define ROOM_BYTES (128u << 20)

/* Describe what makes the library useless. */
__attribute__((format(printf, 2, 3))) static int bad(char *problem, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(problem, ENGINE_DL_PROBLEM_MAX, format, list);
	va_end(list);
	return -ELIBBAD;
}

/* False where the address space is limited (ulimit -v), and what is left is too little. */
static bool has_room(void)
{
	void *room = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED)
		return false;
	munmap(room, ROOM_BYTES);
	return true;
}

/* dlopen tells only in words that a file is missing. An absolute path can be looked at; of a
 * soname the loader says which file it could not open, which is the soname itself. */
static bool is_missing(const char *library, const char *words)
{
	if (*library == '/')
		return access(library, F_OK) != 0;
	return !strncmp(words, library, strlen(library)) &&
	       strstr(words, "No such file or directory");
}

static int fill_in(struct engine *engine, void *handle, const char *library, char *problem)
{
	*engine = (struct engine){ .name = "async-profiler" };
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(handle, symbols[i].name);

		if (!symbol && !symbols[i].optional)
			return bad(problem, "%s is not async-profiler's library: it has no %s",
				   library, symbols[i].name);
		memcpy((char *)engine + symbols[i].offset, &symbol, sizeof(symbol));
	}
	return 0;
}

int engine_dl_open(struct engine *engine, const char *library, char *problem)
{
	const char *words;
	void *handle;
	int err;

	if (!has_room())
		return bad(problem, "there is no room for %s in the address space", library);
	handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle) {
		words = dlerror();
		err = bad(problem, "cannot load %s: %s", library, words);
		return is_missing(library, words) ? -ENOENT : err;
	}
	err = fill_in(engine, handle, library, problem);
	if (err)
		return err;
	err = engine_calls_redirect((const void *)(uintptr_t)engine->execute);
	if (err)
		return bad(problem, "cannot keep %s out of the program's way: %s", library,
			   strerror(-err));
	return 0;
}
