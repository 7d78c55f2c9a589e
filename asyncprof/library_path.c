/* Search for a library by its soname. */
#include "asyncprof/library_path.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asyncprof/loader_cache.h"
#include "asyncprof/loader_gate.h"
#include "core/fd.h"
#include "core/kernel.h"
#include "core/old_symbol.h"
#include "core/start_environment.h"
#include "core/system.h"

OLD_SYMBOL(dlopen, "2.2.5")
OLD_SYMBOL(dladdr, "2.2.5")
OLD_SYMBOL(dlinfo, "2.3.3")

#define CACHE "/etc/ld.so.cache"

static bool path_accept(char path[PATH_MAX], const char *found)
{
	struct stat st;

	if (!found || *found != '/' || strlen(found) >= PATH_MAX ||
	    kernel_call4(SYS_newfstatat, AT_FDCWD, (long)found, (long)&st, 0) ||
	    !S_ISREG(st.st_mode))
		return false;
	memmove(path, found, strlen(found) + 1);
	return true;
}

static int search_cache(char path[PATH_MAX], const char *soname, bool in_constructor)
{
	int fd = system_open(CACHE, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0), err;

	/* In the constructor no other thread takes the number for a descriptor of its own. */
	if (!in_constructor)
		fd = fd_raise_result(fd);
	if (fd < 0)
		return -ENOENT;
	err = loader_cache_find(path, soname, fd);
	system_close(fd);
	return !err && path_accept(path, path) ? 0 : -ENOENT;
}

static bool search_directory(char path[PATH_MAX], const char *directory, size_t length,
			     const char *soname)
{
	char candidate[PATH_MAX];

	if (length + 1 + strlen(soname) >= sizeof(candidate))
		return false;
	snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)length, directory, soname);
	return path_accept(path, candidate);
}

/* Return the next directory of *PATHS, a list separated by colons or, in musl's file, newlines; NULL at the end.
 * Sets *LENGTH. */
static const char *next_directory(const char **paths, size_t *length)
{
	const char *directory = *paths;

	if (!directory || !*directory)
		return NULL;
	*length = strcspn(directory, ":\n");
	*paths += *length + (directory[*length] != '\0');
	return directory;
}

static int search_directories(char path[PATH_MAX], const char *paths, const char *soname)
{
	const char *directory;
	size_t length;

	while ((directory = next_directory(&paths, &length)))
		if (search_directory(path, directory, length, soname))
			return 0;
	return -ENOENT;
}

/* Directories that musl's dynamic linker searches without a file of its own. */
#define MUSL_DIRECTORIES "/lib:/usr/local/lib:/usr/lib"

const char *library_path_read_musl(char text[LIBRARY_PATH_MUSL_MAX], const char *linker)
{
	static const char file[] = "/etc/ld-musl-" ARCH_NAME ".path";
	const char *end = strrchr(linker, '/');
	size_t length = 0;
	ssize_t n;
	int fd;

	/* The file is relative to the parent of the linker's directory. */
	while (end && end > linker && end[-1] != '/')
		end--;
	if (end && end > linker)
		length = (size_t)(end - 1 - linker);
	if (length + sizeof(file) > LIBRARY_PATH_MUSL_MAX)
		return MUSL_DIRECTORIES;
	memcpy(text, linker, length);
	memcpy(text + length, file, sizeof(file));
	fd = system_open(text, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return fd == -ENOENT ? MUSL_DIRECTORIES : "";
	n = system_read(fd, text, LIBRARY_PATH_MUSL_MAX - 1);
	system_close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static bool is_linker_of_musl(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash && !strncmp(slash + 1, "ld-musl-", strlen("ld-musl-"));
}

static int find_musl_linker(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	if (is_linker_of_musl(info->dlpi_name))
		*(const char **)data = info->dlpi_name;
	return 0;
}

static int search_musl_directories(char path[PATH_MAX], const char *soname)
{
	const char *linker = "";
	char text[LIBRARY_PATH_MUSL_MAX];

	dl_iterate_phdr(find_musl_linker, &linker);
	return search_directories(path, start_environment_get("LD_LIBRARY_PATH"), soname)
		       ? search_directories(path, library_path_read_musl(text, linker), soname)
		       : 0;
}

/* Search the directories of the dynamic linker for the program, without its cache. */
static int search_linker_directories(char path[PATH_MAX], const char *soname)
{
	void *program = dlopen(NULL, RTLD_LAZY);
	Dl_serinfo sizes, *found = NULL;
	int err = -ENOENT;

	if (!program)
		return err;
	if (dlinfo(program, RTLD_DI_SERINFOSIZE, &sizes))
		return search_musl_directories(path, soname);
	found = calloc(1, sizes.dls_size);
	if (!found)
		return err;
	found->dls_size = sizes.dls_size;
	found->dls_cnt = sizes.dls_cnt;
	if (!dlinfo(program, RTLD_DI_SERINFOSIZE, found) &&
	    !dlinfo(program, RTLD_DI_SERINFO, found))
		for (unsigned i = 0; err && i < found->dls_cnt; i++) {
			const char *name = found->dls_serpath[i].dls_name;

			if (search_directory(path, name, strlen(name), soname))
				err = 0;
		}
	free(found);
	return err;
}

static int search_own_directory(char path[PATH_MAX], const char *file)
{
	const char *slash;
	Dl_info own;

	if (!dladdr((const void *)(uintptr_t)library_path_find, &own) || !own.dli_fname)
		return -ENOENT;
	slash = strrchr(own.dli_fname, '/');
	if (!slash || !search_directory(path, own.dli_fname, (size_t)(slash - own.dli_fname), file))
		return -ENOENT;
	return 0;
}

struct wanted {
	const char *file_name;
	char *path; /* NULL: not needed */
};

static int match_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
	const struct wanted *wanted = data;
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (strcmp(slash ? slash + 1 : info->dlpi_name, wanted->file_name) ||
	    strlen(info->dlpi_name) >= PATH_MAX)
		return 0;
	if (wanted->path)
		memcpy(wanted->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
	return 1;
}

bool library_path_find_loaded(char path[PATH_MAX], const char *file_name)
{
	struct wanted wanted = { file_name, path };
	int found;

	loader_gate_enter();
	found = dl_iterate_phdr(match_loaded, &wanted);
	loader_gate_leave();
	return found != 0;
}

static bool is_library_of_java(const char *name)
{
	const char *slash = strrchr(name, '/');

	name = slash ? slash + 1 : name;
	return !strcmp(name, "libjvm.so") || !strcmp(name, "libjli.so");
}

static int match_java(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	return is_library_of_java(info->dlpi_name);
}

bool library_path_program_is_java(void)
{
	int found;

	loader_gate_enter();
	found = dl_iterate_phdr(match_java, NULL);
	loader_gate_leave();
	return found != 0;
}

int library_path_find(char path[PATH_MAX], const char *soname, const char *own_file)
{
	int err;

	if (library_path_find_loaded(path, soname))
		return 0;
	loader_gate_enter();
	err = search_linker_directories(path, soname);
	if (err)
		err = search_cache(path, soname, false);
	if (err)
		err = search_own_directory(path, soname);
	if (err && own_file)
		err = search_own_directory(path, own_file);
	loader_gate_leave();
	return err;
}

/* Result of one pass over the loaded libraries. */
struct scan {
	const char *soname;
	bool first, is_loaded, has_run_path, is_java;
	const char *own;    /* path of this library; NULL: not found yet */
	const char *linker; /* musl's dynamic linker; NULL: none, or not found yet */
};

static bool has_run_path(const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *entry = NULL;

	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_RPATH || entry->d_tag == DT_RUNPATH)
			return true;
	return false;
}

static bool is_own_library(const struct dl_phdr_info *info)
{
	uintptr_t here = (uintptr_t)library_path_is_likely;

	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    here - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
			    info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

static int scan_library(struct dl_phdr_info *info, size_t size, void *data)
{
	struct scan *scan = data;
	struct wanted wanted = { scan->soname, NULL };

	if (scan->first)
		scan->has_run_path = has_run_path(info);
	scan->first = false;
	if (is_linker_of_musl(info->dlpi_name))
		scan->linker = info->dlpi_name;
	scan->is_java |= is_library_of_java(info->dlpi_name);
	if (!scan->own && is_own_library(info))
		scan->own = info->dlpi_name;
	scan->is_loaded = match_loaded(info, size, &wanted);
	return scan->is_loaded;
}

/* Longer paths are unlikely. */
#define LIKELY_BYTES 512

/* (Without stdio, which reads pages that many programs do not use otherwise.) */
static bool directory_has(const char *directory, size_t length, const char *soname)
{
	char path[LIKELY_BYTES];
	size_t bytes = strlen(soname) + 1;

	if (*directory != '/' || length + 1 + bytes > sizeof(path))
		return false;
	memcpy(path, directory, length);
	path[length] = '/';
	memcpy(path + length + 1, soname, bytes);
	return !kernel_call4(SYS_faccessat, AT_FDCWD, (long)path, F_OK, 0);
}

static bool any_directory_has(const char *paths, const char *soname)
{
	const char *directory;
	size_t length;

	while ((directory = next_directory(&paths, &length)))
		if (directory_has(directory, length, soname))
			return true;
	return false;
}

/* Directories of the dynamic linker in common distributions, without links to these. */
#define STANDARD_DIRECTORIES "/usr/lib/" ARCH_NAME "-linux-gnu:/usr/lib64:/usr/lib"

static bool linker_directories_have(const char *linker, const char *soname)
{
	char text[LIBRARY_PATH_MUSL_MAX];

	return any_directory_has(
		linker ? library_path_read_musl(text, linker) : STANDARD_DIRECTORIES, soname);
}

static bool own_directory_has(const struct scan *scan, const char *file)
{
	const char *slash = scan->own ? strrchr(scan->own, '/') : NULL;

	return slash && directory_has(scan->own, (size_t)(slash - scan->own), file);
}

bool library_path_is_likely(const char *soname, const char *java_file)
{
	struct scan scan = { .soname = soname, .first = true };
	char path[PATH_MAX];

	loader_gate_enter();
	dl_iterate_phdr(scan_library, &scan);
	loader_gate_leave();
	if (scan.is_loaded || (scan.is_java && java_file && own_directory_has(&scan, java_file)))
		return true;
	if (scan.has_run_path)
		return !library_path_find(path, soname, NULL);
	return any_directory_has(getenv("LD_LIBRARY_PATH"), soname) ||
	       !search_cache(path, soname, true) || linker_directories_have(scan.linker, soname) ||
	       own_directory_has(&scan, soname);
}
