/* The executable of this process: path, name, kind. And whether the process has changed its root directory. */
#include "core/executable.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/shared.h"
#include "core/system.h"

/* Smallest page size of any processor. */
#define PAGE_MIN 4096

static const char *path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* snprintf(3) takes kilobytes of stack, and a program may be started with a few pages. */
static void executable_copy_name(char *name, size_t size, const char *base)
{
	size_t length = strnlen(base, size - 1);

	memcpy(name, base, length);
	name[length] = '\0';
}

/* A separate function, so that other callers need no stack space for a path. */
static __attribute__((noinline)) void copy_link_name(char *name, size_t size)
{
	char target[PATH_MAX];
	long length = system_read_link("/proc/self/exe", target, sizeof(target) - 1);

	target[length > 0 ? length : 0] = '\0';
	executable_copy_name(name, size,
			     *path_base_name(target) ? path_base_name(target) : "unknown");
}

const char *executable_started_as(void)
{
#ifndef ASPROF_IMAGE
	/* The dynamic linker was started with the program as an argument. Then AT_EXECFN is the linker, except with
	 * newer versions of glibc. */
	if (!getauxval(AT_BASE) && program_invocation_name)
		return program_invocation_name;
#endif
	return (const char *)getauxval(AT_EXECFN);
}

/* Use the name that the process was started by, which users know and `ps` shows. redis-server is a link to
 * redis-check-rdb, and a script is not its interpreter. fexecve(3) has no name. */
void executable_name(char *name, size_t size)
{
	const char *path = executable_started_as();

	if (!path || !strncmp(path, "/dev/fd/", strlen("/dev/fd/")) || !*path_base_name(path))
		copy_link_name(name, size);
	else
		executable_copy_name(name, size, path_base_name(path));
}

/* Suffixes of qemu's user-mode emulators. Machine emulators and tools have others. */
static const char emulated[] = " aarch64 aarch64_be alpha arm armeb hexagon hppa i386 loongarch64 "
			       "m68k microblaze microblazeel mips"
			       " mips64 mips64el mipsel mipsn32 mipsn32el or1k ppc ppc64 ppc64le "
			       "riscv32 riscv64 s390x sh4 sh4eb"
			       " sparc sparc32plus sparc64 x86_64 xtensa xtensaeb ";

static bool name_is_emulator(const char *name)
{
	char wanted[24] = " ";
	size_t bytes;

	if (strncmp(name, "qemu-", strlen("qemu-")))
		return false;
	name += strlen("qemu-");
	bytes = strcspn(name, "-");
	if (!bytes || bytes > sizeof(wanted) - 3 ||
	    (name[bytes] && strcmp(name + bytes, "-static")))
		return false;
	memcpy(wanted + 1, name, bytes);
	wanted[bytes + 1] = ' ';
	return strstr(emulated, wanted);
}

/* True when the started file is the running program, and not a file for an emulator or a script interpreter. Then
 * the file's header matches the auxiliary vector. */
static bool executable_is_started_file(const char *path)
{
	ElfW(Ehdr) header;
	int fd = system_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	bool whole;

	if (fd < 0)
		return false;
	whole = system_read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header);
	system_close(fd);
	return whole && !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
	       header.e_phnum == getauxval(AT_PHNUM) &&
	       !((header.e_entry ^ getauxval(AT_ENTRY)) % PAGE_MIN);
}

/* The kernel starts an emulator under the name of the emulated program. /proc is used only if necessary: that takes
 * longer than everything else before admission. */
bool process_is_emulator(void)
{
	const char *path = (const char *)getauxval(AT_EXECFN);
	char target[128];
	long length;

	if (!path || !executable_is_started_file(path))
		path = "/proc/self/exe";
	if (name_is_emulator(path_base_name(path)))
		return true;
	length = system_read_link(path, target, sizeof(target));
	if (length <= 0 || length == (long)sizeof(target))
		return false;
	target[length] = '\0';
	return name_is_emulator(path_base_name(target));
}

static bool process_root_read(struct stat *st)
{
	return !kernel_call4(SYS_newfstatat, AT_FDCWD, (long)"/", (long)st, 0);
}

void process_root_capture(void)
{
	struct stat st;

	if (!process_root_read(&st))
		return;
	shared->root.is_known = true;
	shared->root.dev = st.st_dev;
	shared->root.ino = st.st_ino;
}

bool process_root_has_changed(void)
{
	struct stat st;

	return shared->root.is_known && process_root_read(&st) &&
	       (st.st_dev != shared->root.dev || st.st_ino != shared->root.ino);
}
