/* What this process runs. */
#include "core/executable.h"

#include <limits.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/system.h"

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
	long length = system_read_link("/proc/self/exe", target, sizeof(target) - 1);

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

/* What qemu's emulators of single programs are called for: not those of machines, nor its tools. */
static const char *const emulated[] = {
	"aarch64",     "aarch64_be",  "alpha",   "arm",        "armeb",        "hexagon", "hppa",
	"i386",        "loongarch64", "m68k",    "microblaze", "microblazeel", "mips",    "mips64",
	"mips64el",    "mipsel",      "mipsn32", "mipsn32el",  "or1k",         "ppc",     "ppc64",
	"ppc64le",     "riscv32",     "riscv64", "s390x",      "sh4",          "sh4eb",   "sparc",
	"sparc32plus", "sparc64",     "x86_64",  "xtensa",     "xtensaeb",
};

/* By the file itself: the kernel starts it under the name of the program that is emulated. */
bool process_is_emulator(void)
{
	char target[128];
	long length = system_read_link("/proc/self/exe", target, sizeof(target));
	const char *name;
	size_t bytes;

	if (length <= 0 || length == (long)sizeof(target))
		return false;
	target[length] = '\0';
	name = base_name(target);
	if (strncmp(name, "qemu-", strlen("qemu-")))
		return false;
	name += strlen("qemu-");
	bytes = strcspn(name, "-");
	if (name[bytes] && strcmp(name + bytes, "-static"))
		return false;
	for (size_t i = 0; i < sizeof(emulated) / sizeof(*emulated); i++)
		if (strlen(emulated[i]) == bytes && !memcmp(emulated[i], name, bytes))
			return true;
	return false;
}
