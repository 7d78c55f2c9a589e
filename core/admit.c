/* Is this process one to profile? Decided in the constructor of every process. */
#include "core/options.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Not by snprintf, which takes kilobytes of stack: a program may be started with a few pages. */
static void copy_name(char *name, size_t size, const char *base)
{
	size_t length = strnlen(base, size - 1);

	memcpy(name, base, length);
	name[length] = '\0';
}

/* In a function of its own, so that only those who come here take a path's room on the stack. */
static __attribute__((noinline)) void name_by_link(char *name, size_t size)
{
	char target[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", target, sizeof(target) - 1);

	target[length > 0 ? length : 0] = '\0';
	copy_name(name, size, *base_name(target) ? base_name(target) : "unknown");
}

/* By the name it was started as, which is the one that users know and `ps` shows: redis-server is
 * a link to redis-check-rdb, and a script is not its interpreter. fexecve(3) has no name. */
void executable_name(char *name, size_t size)
{
	const char *path = (const char *)getauxval(AT_EXECFN);

	if (!path || !strncmp(path, "/dev/fd/", strlen("/dev/fd/")) || !*base_name(path))
		name_by_link(name, size);
	else
		copy_name(name, size, base_name(path));
}

/* The glob is LENGTH bytes of P. One that is longer than any file name matches nothing. */
static bool glob_matches(const char *p, size_t length, const char *executable)
{
	char glob[2 * NAME_MAX];

	if (length >= sizeof(glob))
		return false;
	memcpy(glob, p, length);
	glob[length] = '\0';
	return !fnmatch(glob, executable, 0);
}

bool config_admits(const struct config *config, const char *executable)
{
	const char *p = config->process;
	bool only_out = true, out;
	size_t length;

	if (!strcmp(p, "*"))
		return true;
	for (;; p++) {
		length = strcspn(p, ",");
		out = *p == '!';
		only_out = only_out && (out || !length);
		if (length && glob_matches(p + out, length - out, executable))
			return !out;
		p += length;
		if (!*p)
			return only_out;
	}
}
