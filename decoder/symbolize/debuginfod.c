/* Debug files from servers, through libdebuginfod, which is loaded by dlopen(3). */
#include "decoder/symbolize/debuginfod.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/output/message.h"

#define FILE_NAME "libdebuginfod.so.1"

struct debuginfod {
	void *handle;
	debuginfod_client *client;
	__typeof__(debuginfod_begin) *begin;
	__typeof__(debuginfod_end) *end;
	__typeof__(debuginfod_find_debuginfo) *find;
};

static int debuginfod_load_library(struct debuginfod *d)
{
	static const struct {
		const char *name;
		size_t offset;
	} functions[] = {
		{ "debuginfod_begin", offsetof(struct debuginfod, begin) },
		{ "debuginfod_end", offsetof(struct debuginfod, end) },
		{ "debuginfod_find_debuginfo", offsetof(struct debuginfod, find) },
	};
	void *function;

	d->handle = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);
	if (!d->handle) {
		message_print("--debuginfod needs " FILE_NAME
			      " of elfutils, which is not installed (Debian: "
			      "apt-get install libdebuginfod1)");
		return -ENOENT;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		function = dlsym(d->handle, functions[i].name);
		if (!function) {
			message_print(FILE_NAME " has no %s", functions[i].name);
			return -ENOENT;
		}
		memcpy((char *)d + functions[i].offset, &function, sizeof(function));
	}
	return 0;
}

int debuginfod_open(struct debuginfod **out)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	struct debuginfod *d;
	int err;

	if (!urls || !*urls) {
		message_print("--debuginfod: " DEBUGINFOD_URLS_ENV_VAR " names no server");
		return -EINVAL;
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	err = debuginfod_load_library(d);
	if (!err) {
		d->client = d->begin();
		err = d->client ? 0 : -ENOMEM;
	}
	if (err) {
		debuginfod_close(d);
		return err;
	}
	*out = d;
	return 0;
}

char *debuginfod_find(struct debuginfod *d, const char *build_id, const char *name)
{
	char *path = NULL;
	int fd = d->find(d->client, (const unsigned char *)build_id, 0, &path);

	if (fd >= 0) {
		close(fd);
		return path;
	}
	if (fd != -ENOENT)
		message_print("debuginfod: %s: %s", name, strerror(-fd));
	return NULL;
}

void debuginfod_close(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	/* libdebuginfod stays loaded: its dependencies do not support dlclose(3). */
	free(d);
}
