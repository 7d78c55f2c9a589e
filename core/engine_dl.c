/* async-profiler as an engine, by dlopen(3). */
#include "core/engine_dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "core/engine_calls.h"
#include "core/log.h"

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

/* dlopen tells only in words that a file is missing. An absolute path can be looked at; of a
 * soname the loader says which file it could not open, which is the soname itself. */
static bool is_missing(const char *library, const char *words)
{
	if (*library == '/')
		return access(library, F_OK) != 0;
	return !strncmp(words, library, strlen(library)) &&
	       strstr(words, "No such file or directory");
}

int engine_dl_open(struct engine *engine, const char *library)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	int err;

	if (!handle) {
		const char *words = dlerror();

		if (is_missing(library, words))
			return -ENOENT;
		log_error("cannot load %s: %s", library, words);
		return -ELIBBAD;
	}
	*engine = (struct engine){ .name = "async-profiler" };
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(handle, symbols[i].name);

		if (!symbol && !symbols[i].optional) {
			log_error("%s is not async-profiler's library: it has no %s", library,
				  symbols[i].name);
			return -ELIBBAD;
		}
		memcpy((char *)engine + symbols[i].offset, &symbol, sizeof(symbol));
	}
	err = engine_calls_redirect((const void *)(uintptr_t)engine->execute);
	if (err) {
		log_error("cannot keep %s out of the program's way: %s", library, strerror(-err));
		return -ELIBBAD;
	}
	return 0;
}
