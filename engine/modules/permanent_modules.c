/* Search for permanent modules: follows DT_NEEDED from the program on. */
#include "engine/modules/permanent_modules.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "engine/reading/memory_reader.h"
#include "engine/reading/process_memory.h"

#define NAME_BYTES  128
#define DYNAMIC_MAX 512

struct candidate {
	struct image *image;
	uintptr_t names;
	Elf64_Dyn *dynamic;
	size_t count; /* entries in DYNAMIC */
	char soname[NAME_BYTES];
	struct memory_block block; /* buffer for reading its names */
	bool is_followed;
};

static void candidate_read_name(char name[NAME_BYTES], struct candidate *candidate, uint64_t offset)
{
	struct memory_reader reader = { .block = &candidate->block };

	if (!memory_read_string(&reader, name, NAME_BYTES, candidate->names + offset))
		name[0] = '\0'; /* no name, or one too long for real modules */
}

/* The loader relocates most of these addresses in place, if it may write there. */
static uintptr_t loaded_address(const struct image *image, uint64_t value)
{
	return value < image->bias ? image->bias + value : value;
}

static int candidate_read(struct candidate *candidate, struct image *image)
{
	const Elf64_Phdr *phdr = image_phdr(image, PT_DYNAMIC);
	size_t size = phdr ? phdr->p_memsz : 0;
	const Elf64_Dyn *entry;

	candidate->image = image;
	memory_block_init(&candidate->block);
	if (!size || size > DYNAMIC_MAX * sizeof(Elf64_Dyn))
		return 0;
	candidate->dynamic = malloc(size);
	if (!candidate->dynamic)
		return -ENOMEM;
	if (!process_memory_read(image->bias + phdr->p_vaddr, candidate->dynamic, size))
		candidate->count = size / sizeof(Elf64_Dyn);
	for (size_t i = 0; i < candidate->count; i++)
		if (candidate->dynamic[i].d_tag == DT_STRTAB)
			candidate->names = loaded_address(image, candidate->dynamic[i].d_un.d_ptr);
	for (size_t i = 0; i < candidate->count; i++) {
		entry = &candidate->dynamic[i];
		if (entry->d_tag == DT_SONAME)
			candidate_read_name(candidate->soname, candidate, entry->d_un.d_val);
		if (entry->d_tag == DT_FLAGS_1 && entry->d_un.d_val & DF_1_NODELETE)
			image->is_permanent = true;
	}
	return 0;
}

static bool candidate_has_name(const struct candidate *candidate, const char *name)
{
	const char *path = candidate->image->path, *slash = strrchr(path, '/');

	return !strcmp(candidate->soname, name) ||
	       !strcmp(strchr(name, '/') || !slash ? path : slash + 1, name);
}

/* Of modules with the same name, the first one was loaded when the name was needed. */
static void candidate_mark_needed(struct candidate *list, size_t count, struct candidate *by)
{
	char name[NAME_BYTES];

	for (size_t i = 0; i < by->count; i++) {
		if (by->dynamic[i].d_tag != DT_NEEDED)
			continue;
		candidate_read_name(name, by, by->dynamic[i].d_un.d_val);
		for (size_t j = 0; name[0] && j < count; j++)
			if (candidate_has_name(&list[j], name)) {
				list[j].image->is_permanent = true;
				break;
			}
	}
}

static struct candidate *candidate_next(struct candidate *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].image->is_permanent && !list[i].is_followed)
			return &list[i];
	return NULL;
}

/* Whether IMAGE is the dynamic loader. musl's loader is its C library and has a name that differs
 * from the needed one. If the loader was started as a command, it is the module with the entry
 * point. */
static bool is_loader(const struct image *image)
{
	const Elf64_Phdr *entered = image_segment(image, getauxval(AT_ENTRY) - image->bias);

	return (image->bias && image->bias == getauxval(AT_BASE)) ||
	       (entered && entered->p_flags & PF_X);
}

int permanent_modules_mark(struct loader_list *loaded)
{
	struct candidate *list = calloc(loaded->count + 1, sizeof(*list)), *next;
	int err = list ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < loaded->count; i++)
		err = candidate_read(&list[i], &loaded->images[i]);
	if (!err && loaded->count)
		loaded->images[0].is_permanent = true; /* the program */
	for (size_t i = 0; !err && i < loaded->count; i++)
		loaded->images[i].is_permanent |= is_loader(&loaded->images[i]);
	while (!err && (next = candidate_next(list, loaded->count))) {
		next->is_followed = true;
		candidate_mark_needed(list, loaded->count, next);
	}
	for (size_t i = 0; list && i < loaded->count; i++)
		free(list[i].dynamic);
	free(list);
	return err;
}
