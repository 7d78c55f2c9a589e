/* Where a library is that is wanted by its soname alone. */
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

#include "asyncprof/start_environment.h"
#include "core/fd.h"
#include "core/loader_gate.h"

#define CACHE       "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

/* Of the flags of an entry in the cache: which processor it is for, and of a C library like ours.
 * Source: glibc's dl-cache.h and ldconfig.h. */
#if defined(__x86_64__)
#define OURS    0x0303
#define MACHINE "x86_64"
#elif defined(__aarch64__)
#define OURS    0x0a03
#define MACHINE "aarch64"
#endif

struct cache_header {
	char magic[20];
	uint32_t entries, string_bytes;
	uint32_t unused[5];
};

struct cache_entry {
	uint32_t flags;
	uint32_t soname, path; /* offsets of strings, from the header on */
	uint32_t os_version;
	uint64_t hardware;
};

/* NULL where the string does not end in the cache. */
static const char *string_at(const char *cache, size_t length, uint32_t offset)
{
	return offset < length && memchr(cache + offset, '\0', length - offset) ? cache + offset
										: NULL;
}

static bool has_string(const char *cache, size_t length, uint32_t offset, const char *string,
		       size_t bytes)
{
	return offset <= length && bytes <= length - offset &&
	       !memcmp(cache + offset, string, bytes);
}

static bool take_path(char path[PATH_MAX], const char *found)
{
	struct stat st;

	if (!found || *found != '/' || strlen(found) >= PATH_MAX || stat(found, &st) ||
	    !S_ISREG(st.st_mode))
		return false;
	memmove(path, found, strlen(found) + 1);
	return true;
}

int library_path_in_cache(char path[PATH_MAX], const char *soname, const void *cache, size_t length)
{
	struct cache_header header;
	struct cache_entry entry;
	size_t name_bytes = strlen(soname) + 1;

	if (length < sizeof(header))
		return -ENOENT;
	memcpy(&header, cache, sizeof(header));
	if (memcmp(header.magic, CACHE_MAGIC, sizeof(header.magic)) ||
	    header.entries > (length - sizeof(header)) / sizeof(entry))
		return -ENOENT;
	for (uint32_t i = 0; i < header.entries; i++) {
		memcpy(&entry, (const char *)cache + sizeof(header) + i * sizeof(entry),
		       sizeof(entry));
		/* Those for some processors only are of no use to us. */
		if (entry.flags == OURS && !entry.hardware &&
		    has_string(cache, length, entry.soname, soname, name_bytes) &&
		    take_path(path, string_at(cache, length, entry.path)))
			return 0;
	}
	return -ENOENT;
}

static int in_cache(char path[PATH_MAX], const char *soname)
{
	int fd = fd_raise(open(CACHE, O_RDONLY | O_CLOEXEC | O_NONBLOCK)), err = -ENOENT;
	void *cache = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return err;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		cache = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (cache == MAP_FAILED)
		return err;
	err = library_path_in_cache(path, soname, cache, (size_t)st.st_size);
	munmap(cache, (size_t)st.st_size);
	return err;
}

static bool in_directory(char path[PATH_MAX], const char *directory, size_t length,
			 const char *soname)
{
	char candidate[PATH_MAX];

	if (length + 1 + strlen(soname) >= sizeof(candidate))
		return false;
	snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)length, directory, soname);
	return take_path(path, candidate);
}

/* In the directories that the loader has for the program, and its own, without the cache. */
static int in_loader_directories(char path[PATH_MAX], const char *soname)
{
	void *program = dlopen(NULL, RTLD_LAZY);
	Dl_serinfo sizes, *found = NULL;
	int err = -ENOENT;

	if (!program || dlinfo(program, RTLD_DI_SERINFOSIZE, &sizes))
		return err;
	found = calloc(1, sizes.dls_size);
	if (!found)
		return err;
	found->dls_size = sizes.dls_size;
	found->dls_cnt = sizes.dls_cnt;
	if (!dlinfo(program, RTLD_DI_SERINFOSIZE, found) &&
	    !dlinfo(program, RTLD_DI_SERINFO, found))
		for (unsigned i = 0; err && i < found->dls_cnt; i++) {
			const char *name = found->dls_serpath[i].dls_name;

			if (in_directory(path, name, strlen(name), soname))
				err = 0;
		}
	free(found);
	return err;
}

static int beside_us(char path[PATH_MAX], const char *soname)
{
	const char *slash;
	Dl_info us;

	if (!dladdr((const void *)(uintptr_t)library_path_find, &us) || !us.dli_fname)
		return -ENOENT;
	slash = strrchr(us.dli_fname, '/');
	if (!slash || !in_directory(path, us.dli_fname, (size_t)(slash - us.dli_fname), soname))
		return -ENOENT;
	return 0;
}

struct wanted {
	const char *file_name;
	char *path; /* NULL: not wanted */
};

static int look_at_loaded(struct dl_phdr_info *info, size_t size, void *data)
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

bool library_path_loaded(char path[PATH_MAX], const char *file_name)
{
	struct wanted wanted = { file_name, path };
	int found;

	loader_gate_enter();
	found = dl_iterate_phdr(look_at_loaded, &wanted);
	loader_gate_leave();
	return found != 0;
}

int library_path_find(char path[PATH_MAX], const char *soname)
{
	int err;

	if (library_path_loaded(path, soname))
		return 0;
	loader_gate_enter();
	err = in_loader_directories(path, soname);
	if (err)
		err = in_cache(path, soname);
	if (err)
		err = beside_us(path, soname);
	loader_gate_leave();
	return err;
}

/* What one pass over all that is loaded tells. */
struct glance {
	const char *soname;
	bool first, is_loaded, has_run_path;
	char us[PATH_MAX];
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

static bool is_us(const struct dl_phdr_info *info)
{
	uintptr_t here = (uintptr_t)library_path_is_likely;

	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    here - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
			    info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

static int glance_at(struct dl_phdr_info *info, size_t size, void *data)
{
	struct glance *glance = data;
	struct wanted wanted = { glance->soname, NULL };

	if (glance->first)
		glance->has_run_path = has_run_path(info);
	glance->first = false;
	if (!*glance->us && strlen(info->dlpi_name) < PATH_MAX && is_us(info))
		strcpy(glance->us, info->dlpi_name);
	glance->is_loaded = look_at_loaded(info, size, &wanted);
	return glance->is_loaded;
}

static bool is_in(const char *directory, size_t length, const char *soname)
{
	char path[PATH_MAX];

	return *directory == '/' && length + 1 + strlen(soname) < sizeof(path) &&
	       snprintf(path, sizeof(path), "%.*s/%s", (int)length, directory, soname) > 0 &&
	       !access(path, F_OK);
}

/* In one of PATHS, which a colon ends each. */
static bool is_in_one_of(const char *paths, const char *soname)
{
	for (size_t length; paths && *paths; paths += length + (paths[length] == ':')) {
		length = strcspn(paths, ":");
		if (is_in(paths, length, soname))
			return true;
	}
	return false;
}

/* As distributions have the loader built. */
#define STANDARD                                                                       \
	"/lib/" MACHINE "-linux-gnu:/usr/lib/" MACHINE "-linux-gnu:/lib64:/usr/lib64:" \
	"/lib:/usr/lib"

bool library_path_is_likely(const char *soname)
{
	struct glance glance = { .soname = soname, .first = true };
	char path[PATH_MAX];
	const char *slash;

	loader_gate_enter();
	dl_iterate_phdr(glance_at, &glance);
	loader_gate_leave();
	if (glance.is_loaded)
		return true;
	if (glance.has_run_path)
		return !library_path_find(path, soname);
	slash = strrchr(glance.us, '/');
	return is_in_one_of(engine_getenv("LD_LIBRARY_PATH"), soname) || !in_cache(path, soname) ||
	       is_in_one_of(STANDARD, soname) ||
	       (slash && is_in(glance.us, (size_t)(slash - glance.us), soname));
}
