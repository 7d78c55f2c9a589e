/* Reader for the loader's list of modules; reads all nodes as copies. */
#include "engine/modules/loader_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/shared.h"
#include "engine/elf/elf.h"
#include "engine/elf/module_file.h"
#include "engine/process/mapped_file.h"
#include "engine/reading/memory_check.h"
#include "engine/reading/memory_reader.h"

/* A list that changes during the walk may lead anywhere. */
#define MODULES_MAX 65536
#define PATH_BYTES  4096

/* Attempts to read the list before the caller must retry later. */
#define TRIES 3

/* Weak, since musl's loader has no such symbol and would refuse to start the program. */
extern struct r_debug _r_debug __attribute__((weak));

/* The structure of the program's loader, if this code is in the agent's image. NULL: there is none. */
static const struct r_debug *loader_debug(void)
{
	return shared->loader_debug ? shared->loader_debug : &_r_debug;
}

static uintptr_t first_node(void)
{
	return (uintptr_t)__atomic_load_n(&loader_debug()->r_map, __ATOMIC_RELAXED);
}

/* ---- Nodes ---- */

static int add_node(struct loader_list *list, const struct loader_node *node)
{
	size_t room = list->room ? 2 * list->room : 32;
	struct loader_node *nodes;

	if (list->count == list->room) {
		nodes = reallocarray(list->nodes, room, sizeof(*nodes));
		if (!nodes)
			return -ENOMEM;
		list->nodes = nodes;
		list->room = room;
	}
	list->nodes[list->count++] = *node;
	return 0;
}

static int read_nodes(struct loader_list *list)
{
	struct loader_node node = { .address = first_node() };
	uintptr_t before = 0;
	int err = 0;

	while (!err && node.address) {
		if (list->count == MODULES_MAX ||
		    !memory_copy(&node.map, node.address, sizeof(node.map)) ||
		    (uintptr_t)node.map.l_prev != before)
			return -EAGAIN;
		err = add_node(list, &node);
		before = node.address;
		node.address = (uintptr_t)node.map.l_next;
	}
	return err;
}

/* Each node still points to its successor. */
bool loader_list_is_current(const struct loader_list *list)
{
	struct memory_check check = { .count = 0 };

	if (!list->count || first_node() != list->nodes[0].address)
		return false;
	for (size_t i = 0; i < list->count; i++)
		memory_check_add(&check, list->nodes[i].address, &list->nodes[i].map,
				 sizeof(list->nodes[i].map));
	return memory_check_end(&check);
}

bool loader_list_has_grown(const struct loader_list *list)
{
	const struct loader_node *last;
	struct link_map map;

	if (!list->count)
		return true;
	last = &list->nodes[list->count - 1];
	return !memory_copy(&map, last->address, sizeof(map)) ||
	       memcmp(&map, &last->map, sizeof(map));
}

/* ---- Modules of the nodes ---- */

/* A static program that is linked for a fixed address has no dynamic section. */
static bool is_module_of(const struct elf *elf, const struct link_map *map)
{
	const Elf64_Phdr *dynamic = elf_find_segment(elf, PT_DYNAMIC);

	return dynamic ? map->l_addr + dynamic->p_vaddr == (uintptr_t)map->l_ld : !map->l_ld;
}

/* Copy the headers of ELF if it is the module of MAP: its dynamic section has the address in MAP. Closes ELF. */
static bool image_set_headers(struct image *image, struct elf *elf, const struct link_map *map)
{
	size_t count = elf_segment_count(elf);
	bool same = is_module_of(elf, map) && count <= IMAGE_PHDRS_MAX;

	for (size_t i = 0; same && i < count; i++)
		image->phdrs[i] = *elf_segment(elf, i);
	image->phdr_count = same ? count : 0;
	elf_close(elf);
	return same;
}

static bool image_set_mapped_headers(struct image *image, uintptr_t start,
				     const struct link_map *map)
{
	uintptr_t end = map->l_ld ? (uintptr_t)map->l_ld : start + MEMORY_PAGE;
	struct elf *elf;

	return start < end && !elf_open_image(&elf, start, end - start) &&
	       image_set_headers(image, elf, map);
}

/* The header is not at link address 0 if the program is linked for a fixed address. */
static bool image_set_program_headers(struct image *image, const struct link_map *map)
{
	return image_set_mapped_headers(image, getauxval(AT_PHDR) & ~(MEMORY_PAGE - 1), map);
}

/* For libraries of that kind, and for files whose headers a tool has moved to the end. */
static void image_set_headers_of_mapping(struct image *image, const struct link_map *map)
{
	struct mapped_file file;
	struct elf *elf;

	if (mapped_file_at(&file, (uintptr_t)map->l_ld))
		return;
	if (!image_set_mapped_headers(image, file.start, map) &&
	    !module_file_open_elf(&elf, file.path))
		image_set_headers(image, elf, map);
	free(file.path);
}

static char *read_string(uintptr_t address)
{
	struct memory_block block;
	struct memory_reader reader = { .block = &block };
	char text[PATH_BYTES];

	memory_block_init(&block);
	memory_read_string(&reader, text, sizeof(text), address);
	return strdup(text);
}

static int read_images(struct loader_list *list)
{
	list->images = calloc(list->count + 1, sizeof(*list->images));
	if (!list->images)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		const struct link_map *map = &list->nodes[i].map;
		struct image *image = &list->images[i];

		image->fd = -1;
		image->bias = map->l_addr;
		image->path = read_string((uintptr_t)map->l_name);
		if (!image->path)
			return -ENOMEM;
		if (!image_set_mapped_headers(image, map->l_addr, map) &&
		    (i || !image_set_program_headers(image, map)))
			image_set_headers_of_mapping(image, map);
	}
	return 0;
}

int loader_list_read(struct loader_list *list)
{
	int err = -EAGAIN;

	memset(list, 0, sizeof(*list));
	if (!loader_debug())
		return -ENOSYS;
	for (int i = 0; err == -EAGAIN && i < TRIES; i++) {
		loader_list_free(list);
		err = read_nodes(list);
		if (!err)
			err = read_images(list);
		if (!err && !loader_list_is_current(list))
			err = -EAGAIN;
	}
	return err;
}

void loader_list_trim(struct loader_list *list)
{
	for (size_t i = 0; list->images && i < list->count; i++)
		free((char *)list->images[i].path);
	free(list->images);
	list->images = NULL;
}

void loader_list_free(struct loader_list *list)
{
	loader_list_trim(list);
	free(list->nodes);
	memset(list, 0, sizeof(*list));
}
