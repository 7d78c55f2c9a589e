/* Is this process one to profile? Decided in the constructor of every process. */
#include "core/options.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

void executable_name(char *name, size_t size)
{
	static const char deleted[] = " (deleted)";
	char path[PATH_MAX];
	const char *source = path, *base;
	size_t length;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	if (n <= 0) /* no /proc: what was given to execve(2) */
		source = (const char *)getauxval(AT_EXECFN);
	base = source ? strrchr(source, '/') : NULL;
	base = base ? base + 1 : source ? source : "";
	length = strlen(base);
	/* A program that was replaced while it runs is still called as before. */
	if (length > sizeof(deleted) - 1 && !strcmp(base + length - sizeof(deleted) + 1, deleted))
		length -= sizeof(deleted) - 1;
	if (!length)
		length = strlen(base = "unknown");
	if (length >= size)
		length = size - 1;
	memcpy(name, base, length);
	name[length] = '\0';
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
