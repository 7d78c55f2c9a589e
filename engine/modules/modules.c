/* List of loaded modules with an unwind table for each, kept equal to the loader's list. */
#include "engine/modules/modules.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/executable.h"
#include "engine/cfi/cfi.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/modules/module_image.h"
#include "engine/modules/permanent_modules.h"
#include "engine/modules/loader_list.h"
#include "engine/modules/module_table.h"
#include "engine/process/mapped_file.h"
#include "engine/reading/memory_check.h"
#include "engine/unwind/unwind_map.h"

/* ---- Modules ---- */

static struct {
	struct module **list; /* loaded modules by address, then unloaded ones */
	size_t count, present, capacity;
	struct loader_list loader; /* nodes of the loader's list at the last refresh of LIST */
	bool is_open;

	/* Replaced maps, and tables of unloaded modules, until no handler can use them. */
	struct retired {
		struct retired *next;
		void *memory;
	} * retired;
	bool has_retired; /* a map was replaced since the handlers were last seen idle */
	bool is_stale;    /* the list is newer than the published map */
} modules;

static uint64_t code_file_offset(const struct image *image, uintptr_t start)
{
	for (size_t i = 0; i < image->phdr_count; i++)
		if (image->phdrs[i].p_type == PT_LOAD &&
		    image->bias + image->phdrs[i].p_vaddr == start)
			return image->phdrs[i].p_offset;
	return 0;
}

/* Whether a handler may read all code from START to END in place: it is one segment of a module
 * that is never unloaded. */
static bool code_stays_readable(const struct image *image, uintptr_t start, uintptr_t end)
{
	const Elf64_Phdr *phdr = image_segment(image, start - image->bias);

	return image->is_permanent && phdr && (phdr->p_flags & (PF_R | PF_W)) == PF_R &&
	       phdr->p_filesz == end - start;
}

static bool code_span(const struct image *image, uintptr_t *start, uintptr_t *end)
{
	const Elf64_Phdr *phdr;

	*start = UINTPTR_MAX;
	*end = 0;
	for (size_t i = 0; i < image->phdr_count; i++) {
		phdr = &image->phdrs[i];
		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X))
			continue;
		if (image->bias + phdr->p_vaddr < *start)
			*start = image->bias + phdr->p_vaddr;
		if (image->bias + phdr->p_vaddr + phdr->p_memsz > *end)
			*end = image->bias + phdr->p_vaddr + phdr->p_memsz;
	}
	return *start < *end;
}

static uintptr_t last_segment_end(const struct image *image)
{
	uintptr_t last = 0, end;

	for (size_t i = 0; i < image->phdr_count; i++) {
		end = image->bias + image->phdrs[i].p_vaddr + image->phdrs[i].p_memsz;
		if (image->phdrs[i].p_type == PT_LOAD && end > last)
			last = end;
	}
	return last;
}

/* Path of the mapping at ADDRESS, for modules that were opened by a relative path. */
static char *mapped_path(uintptr_t address)
{
	struct mapped_file file;

	return mapped_file_at(&file, address) ? NULL : file.path;
}

/* Path of the program, from its mapping: /proc/self/exe is the loader if that was started with the
 * program as an argument. Without /proc, the name that the kernel was given is used. It may name a
 * script, or another file by now; readers of the file check that it is the mapped one. */
static char *program_path(uintptr_t address)
{
	const char *started_as = executable_started_as();
	char *path = mapped_path(address);

	return path || !started_as ? path : strdup(started_as);
}

/* Path of a module. The loader's name is "" for the program, else the argument of dlopen. The
 * caller frees it; NULL without memory. */
static char *resolve_path(const struct image *image, uintptr_t start, uintptr_t end)
{
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR), entry = getauxval(AT_ENTRY);
	char *path = NULL;

	if (vdso && vdso >= image->bias && vdso <= start && start - vdso < (1u << 16))
		path = strdup("[vdso]");
	else if (entry >= start && entry < end)
		path = program_path(entry);
	else if (image->path[0] != '/')
		path = mapped_path(start);
	return path ? path : strdup(image->path);
}

static void file_version_read(struct file_version *version, const char *path)
{
	struct stat st;

	memset(version, 0, sizeof(*version));
	if (path[0] != '/' || stat(path, &st))
		return;
	version->device = st.st_dev;
	version->inode = st.st_ino;
	version->changed_ns =
		(uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec;
}

/* Whether another file than before is mapped at MODULE. With a build-id, that shows in memory. While the old file is mapped
 * and another one has its path, the kernel reports the old one as deleted. */
static bool module_file_is_replaced(const struct module *module)
{
	static const char deleted[] = " (deleted)";
	struct file_version now;
	size_t length;
	char *mapped;
	bool replaced;

	if (module->build_id_size || !module->file.inode)
		return false;
	file_version_read(&now, module->path);
	if (!now.inode || !memcmp(&now, &module->file, sizeof(now)))
		return false;
	mapped = mapped_path(module->start);
	length = mapped ? strlen(mapped) : 0;
	replaced = mapped &&
		   (length < strlen(deleted) || strcmp(mapped + length - strlen(deleted), deleted));
	free(mapped);
	return replaced;
}

static void module_free(struct module *module)
{
	if (module)
		free((char *)module->path);
	free(module);
}

static void module_compile(struct module *module, struct image *image)
{
	const char *loader_path = image->path;

	image->path = module->path;
	image_open(image);
	module->table = module_table_compile(image, module->start, module->end);
	module->pending = false;
	image_close(image);
	image->path = loader_path;
}

static struct module *module_new(struct image *image, uintptr_t start, uintptr_t end)
{
	struct module *module = calloc(1, sizeof(*module));

	if (!module)
		return NULL;
	module->path = resolve_path(image, start, end);
	if (!module->path) {
		free(module);
		return NULL;
	}
	module->start = start;
	module->end = end;
	module->data_end = last_segment_end(image);
	module->bias = image->bias;
	module->file_offset = code_file_offset(image, start);
	module->build_id_size = image_build_id(image, module->build_id, &module->build_id_address);
	if (!module->build_id_size)
		file_version_read(&module->file, module->path);
	module->loaded_ticks = clock_ticks();
	module->readable = code_stays_readable(image, start, end);
	module->pending = module_table_can_wait(image, start);
	if (!module->pending)
		module_compile(module, image);
	return module;
}

/* ---- Publication to the handlers ---- */

static void retired_add(void *memory)
{
	struct retired *retired = memory ? malloc(sizeof(*retired)) : NULL;

	if (!retired)
		return; /* without memory: a leak is better than a free during use */
	retired->memory = memory;
	retired->next = modules.retired;
	modules.retired = retired;
}

static void retired_free(void)
{
	struct retired *retired;

	if (!modules.has_retired || !unwind_map_quiet())
		return;
	modules.has_retired = false;
	while ((retired = modules.retired)) {
		modules.retired = retired->next;
		free(retired->memory);
		free(retired);
	}
}

static unsigned module_lookups(const struct module *module)
{
	return module->entry ? atomic_load_explicit(&module->entry->lookups, memory_order_relaxed)
			     : 0;
}

static bool module_is_due(const struct module *module)
{
	return module->pending && module_lookups(module) >= UNWIND_LOOKUPS_MAX;
}

static int modules_publish(void)
{
	struct unwind_map_entry *entry;
	struct unwind_map *map;
	struct module *module;

	map = malloc(sizeof(*map) + modules.present * sizeof(map->entries[0]));
	if (!map)
		return -ENOMEM;
	map->count = modules.present;
	for (size_t i = 0; i < modules.present; i++) {
		module = modules.list[i];
		entry = &map->entries[i];
		entry->start = module->start;
		entry->end = module->end;
		entry->table = module->table;
		entry->readable = module->readable;
		entry->pending = module->pending;
		atomic_init(&entry->lookups, module_lookups(module));
		module->entry = entry;
	}
	retired_add(unwind_map_publish(map));
	modules.has_retired = true;
	modules.is_stale = false;
	return 0;
}

/* ---- Changes ---- */

/* Order: loaded modules by address, then unloaded ones, the newest first. */
static int module_compare(const void *a, const void *b)
{
	const struct module *left = *(struct module *const *)a, *right = *(struct module *const *)b;

	if (!left->unloaded_ticks != !right->unloaded_ticks)
		return left->unloaded_ticks ? 1 : -1;
	if (left->unloaded_ticks)
		return left->unloaded_ticks > right->unloaded_ticks ? -1 : 1;
	return left->start < right->start ? -1 : left->start > right->start;
}

static void modules_sort(void)
{
	if (modules.count)
		qsort(modules.list, modules.count, sizeof(*modules.list), module_compare);
	modules.present = 0;
	while (modules.present < modules.count && !modules.list[modules.present]->unloaded_ticks)
		modules.present++;
}

static bool module_matches_image(const struct module *module, const struct image *image,
				 uintptr_t start, uintptr_t end)
{
	uint8_t id[IMAGE_BUILD_ID_MAX];
	uint64_t address;
	size_t size;

	if (module->start != start || module->end != end || module->bias != image->bias)
		return false;
	if (image->path[0] == '/' && strcmp(module->path, "[vdso]") &&
	    strcmp(module->path, image->path))
		return false;
	size = image_build_id(image, id, &address);
	return size == module->build_id_size && !memcmp(id, module->build_id, size) &&
	       !module_file_is_replaced(module);
}

static struct module *modules_find_loaded(const struct image *image, uintptr_t start, uintptr_t end)
{
	for (size_t i = 0; i < modules.present; i++)
		if (module_matches_image(modules.list[i], image, start, end))
			return modules.list[i];
	return NULL;
}

static int modules_reserve(size_t more)
{
	size_t capacity = modules.count + more;
	struct module **list;

	if (capacity <= modules.capacity)
		return 0;
	list = reallocarray(modules.list, capacity, sizeof(*list));
	if (!list)
		return -ENOMEM;
	modules.list = list;
	modules.capacity = capacity;
	return 0;
}

/* Update the list to the modules LOADED by the loader. Returns 0 or -errno. */
static int modules_merge(struct loader_list *loaded)
{
	bool *still = calloc(modules.present + 1, sizeof(*still));
	struct module *module;
	uintptr_t start, end;
	size_t old = modules.present;
	int err = still ? modules_reserve(loaded->count) : -ENOMEM;

	for (size_t i = 0; !err && i < loaded->count; i++) {
		if (!code_span(&loaded->images[i], &start, &end))
			continue;
		module = modules_find_loaded(&loaded->images[i], start, end);
		if (module) {
			for (size_t j = 0; j < old; j++)
				if (modules.list[j] == module)
					still[j] = true;
			if (module_is_due(module)) {
				module_compile(module, &loaded->images[i]);
				modules.is_stale = true;
			}
			continue;
		}
		module = module_new(&loaded->images[i], start, end);
		if (!module) {
			err = -ENOMEM;
			break;
		}
		modules.list[modules.count++] = module;
		modules.is_stale = true;
	}
	for (size_t i = 0; !err && i < old; i++)
		if (!still[i]) {
			modules.list[i]->unloaded_ticks = clock_ticks();
			modules.is_stale = true;
		}
	free(still);
	modules_sort();
	return err;
}

/* Retire the tables of unloaded modules. The new map is published, so they get no new readers. */
static void modules_retire_tables(void)
{
	for (size_t i = modules.present; i < modules.count; i++) {
		retired_add(modules.list[i]->table);
		modules.list[i]->table = NULL;
	}
}

static bool modules_any_due(void)
{
	for (size_t i = 0; i < modules.present; i++)
		if (module_is_due(modules.list[i]))
			return true;
	return false;
}

/* Whether all build-ids are unchanged, or else the files. A module that replaced another in the same loader entry has
 * another build-id. */
static bool modules_are_same(void)
{
	struct memory_check check = { .count = 0 };
	bool replaced = false;

	for (size_t i = 0; i < modules.present; i++) {
		memory_check_add(&check, modules.list[i]->bias + modules.list[i]->build_id_address,
				 modules.list[i]->build_id, modules.list[i]->build_id_size);
		replaced |= module_file_is_replaced(modules.list[i]);
	}
	return memory_check_end(&check) && !replaced;
}

/* Mark permanent modules in LOADED, and let lookups read their unwind sections in place. */
static int modules_mark_permanent(struct loader_list *loaded)
{
	int err = permanent_modules_mark(loaded);

	for (size_t i = 0; !err && i < loaded->count; i++) {
		const struct image *image = &loaded->images[i];
		const Elf64_Phdr *header = image_phdr(image, PT_GNU_EH_FRAME);
		const Elf64_Phdr *phdr = header ? image_segment(image, header->p_vaddr) : NULL;

		if (image->is_permanent && phdr && (phdr->p_flags & (PF_R | PF_W)) == PF_R)
			cfi_lookup_lasting((const uint8_t *)image->bias + header->p_vaddr,
					   image->bias + phdr->p_vaddr,
					   image->bias + phdr->p_vaddr + phdr->p_filesz);
	}
	return err;
}

bool modules_have_grown(void)
{
	return modules.is_open && (loader_list_has_grown(&modules.loader) || modules_any_due());
}

int modules_refresh(void)
{
	struct loader_list loaded;
	bool changed;
	int err;

	if (!modules.is_open)
		return -EINVAL;
	retired_free();
	if (loader_list_is_current(&modules.loader) && modules_are_same() && !modules_any_due())
		return 0;
	loader_list_free(&modules.loader);
	err = loader_list_read(&loaded);
	if (!err && !modules.count) /* only the first time; they never change */
		err = modules_mark_permanent(&loaded);
	if (!err)
		err = modules_merge(&loaded);
	changed = modules.is_stale;
	if (changed && !modules_publish())
		modules_retire_tables();
	if (!err && !modules.is_stale) {
		modules.loader = loaded;
		loader_list_trim(&modules.loader);
	} else {
		loader_list_free(&loaded);
	}
	/* A list that changes too fast is read at the next refresh. */
	return err && err != -EAGAIN ? err : changed;
}

int modules_open(void)
{
	int result;

	cfi_rules_init();
	modules.is_open = true;
	result = modules_refresh();
	if (result < 0)
		modules_close();
	return result < 0 ? result : 0;
}

void modules_close(void)
{
	if (!modules.is_open)
		return;
	retired_add(unwind_map_publish(NULL));
	modules.has_retired = true;
	for (size_t i = 0; i < modules.count; i++) {
		retired_add(modules.list[i]->table);
		module_free(modules.list[i]);
	}
	free(modules.list);
	modules.list = NULL;
	modules.count = modules.present = modules.capacity = 0;
	loader_list_free(&modules.loader);
	modules.is_open = false;
	retired_free();
}

/* The number of loaded modules that start at or before ADDRESS. */
static size_t modules_before(uintptr_t address)
{
	size_t begin = 0, end = modules.present, middle;

	while (begin < end) {
		middle = begin + (end - begin) / 2;
		if (modules.list[middle]->start <= address)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

const struct module *modules_find_data(uintptr_t address)
{
	size_t before = modules_before(address);

	return before && address >= modules.list[before - 1]->end &&
			       address < modules.list[before - 1]->data_end
		       ? modules.list[before - 1]
		       : NULL;
}

const struct module *modules_find(uintptr_t pc)
{
	size_t begin = modules_before(pc);

	if (begin && pc < modules.list[begin - 1]->end)
		return modules.list[begin - 1];
	for (size_t i = modules.present; i < modules.count; i++)
		if (pc >= modules.list[i]->start && pc < modules.list[i]->end)
			return modules.list[i];
	return NULL;
}

size_t modules_list(const struct module *const **list)
{
	*list = (const struct module *const *)modules.list;
	return modules.count;
}

void modules_since(uint64_t *since, void (*visit)(void *context, const struct module *module),
		   void *context)
{
	uint64_t before = *since;

	for (size_t i = 0; i < modules.present; i++) {
		const struct module *module = modules.list[i];

		if (module->loaded_ticks <= before)
			continue;
		if (module->loaded_ticks > *since)
			*since = module->loaded_ticks;
		visit(context, module);
	}
}

bool modules_has(uintptr_t start, uint64_t loaded_ticks)
{
	const struct module *module = modules_find(start);

	return module && !module->unloaded_ticks && module->start == start &&
	       module->loaded_ticks == loaded_ticks;
}

void modules_forget(void)
{
	while (modules.count > modules.present)
		module_free(modules.list[--modules.count]);
}

size_t modules_memory(void)
{
	size_t bytes =
		modules.capacity * sizeof(*modules.list) + cfi_memory() + sizeof(unwind_cache);

	for (size_t i = 0; i < modules.count; i++) {
		bytes += sizeof(struct module);
		if (modules.list[i]->table)
			bytes += modules.list[i]->table->bytes;
	}
	return bytes;
}
