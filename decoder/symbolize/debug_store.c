/* Debug files by build-id: first at the paths that distributions use, then anywhere below the directories, then on
 * servers. */
#include "decoder/symbolize/debug_store.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/text/hex.h"
#include "decoder/output/message.h"
#include "decoder/symbolize/debuginfod.h"
#include "engine/elf/elf.h"
#include "engine/elf/elf_identity.h"
#include "profile/basics/array.h"

#define HEX_MAX   (2 * ELF_BUILD_ID_MAX + 1)
#define FILES_MAX 500000

struct debug_file {
	char build_id[HEX_MAX];
	char *path;
	int content;
};

struct debug_store {
	const char *const *directories;
	unsigned count;
	struct debuginfod *debuginfod;
	bool is_indexed;
	struct debug_file *files; /* index of all directories */
	uint32_t file_count, file_room;
};

int debug_store_open(struct debug_store **out, const char *const *directories, unsigned count,
		     bool debuginfod)
{
	struct debug_store *store;
	struct stat status;
	int err = 0;

	for (unsigned i = 0; i < count; i++)
		if (stat(directories[i], &status)) {
			err = -errno;
			message_print("--symbols: %s: %s", directories[i], strerror(errno));
			return err;
		}
	store = calloc(1, sizeof(*store));
	if (!store)
		return -ENOMEM;
	store->directories = directories;
	store->count = count;
	if (debuginfod)
		err = debuginfod_open(&store->debuginfod);
	if (err) {
		free(store);
		return err;
	}
	*out = store;
	return 0;
}

/* Returns 2 if the file has debug information, 1 if it has only symbols, else 0. */
static int elf_debug_content(struct elf *elf)
{
	static const char *const names[] = { ".debug_info", ".zdebug_info" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const Elf64_Shdr *section = elf_find_section(elf, names[i]);

		if (section && section->sh_type != SHT_NOBITS)
			return 2;
	}
	return elf_find_section_type(elf, SHT_SYMTAB) != NULL;
}

/* Read the build-id of the file at PATH, in hexadecimal. Returns elf_debug_content() of the file. */
static int debug_file_inspect(const char *path, char build_id[HEX_MAX])
{
	uint8_t id[ELF_BUILD_ID_MAX];
	struct elf *elf;
	int content = 0, length;

	build_id[0] = '\0';
	if (elf_open(&elf, path))
		return 0;
	length = elf_build_id(elf, id);
	if (length > 0) {
		*hex_encode(build_id, id, (size_t)length) = '\0';
		content = elf_debug_content(elf);
	}
	elf_close(elf);
	return content;
}

static int debug_store_add_file(struct debug_store *store, const char *path)
{
	struct debug_file one = { .path = NULL };

	one.content = debug_file_inspect(path, one.build_id);
	if (!one.content)
		return 0;
	if (array_reserve(&store->files, &store->file_room, store->file_count, sizeof(one)))
		return -ENOMEM;
	one.path = strdup(path);
	if (!one.path)
		return -ENOMEM;
	store->files[store->file_count++] = one;
	return 0;
}

static void debug_store_index_directory(struct debug_store *store, const char *directory)
{
	char *roots[] = { (char *)directory, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	unsigned left = FILES_MAX;

	while (walk && left && (entry = fts_read(walk)))
		if (entry->fts_info == FTS_F &&
		    (left--, debug_store_add_file(store, entry->fts_path)))
			break;
	if (walk)
		fts_close(walk);
	if (!left)
		message_print("--symbols: %s: only the first %d files were searched", directory,
			      FILES_MAX);
}

/* Find the file below a debug root, a copy of a root directory, or the .build-id directory itself. */
static char *debug_store_find_by_path(const struct debug_store *store, const char *build_id)
{
	static const char *const below[] = { "/.build-id", "/usr/lib/debug/.build-id", "" };
	char path[PATH_MAX], id[HEX_MAX];

	for (unsigned i = 0; i < store->count; i++)
		for (size_t k = 0; k < sizeof(below) / sizeof(below[0]); k++) {
			int n = snprintf(path, sizeof(path), "%s%s/%.2s/%s.debug",
					 store->directories[i], below[k], build_id, build_id + 2);

			if (n > 0 && (size_t)n < sizeof(path) && debug_file_inspect(path, id) &&
			    !strcmp(id, build_id))
				return strdup(path);
		}
	return NULL;
}

static char *debug_store_find_indexed(struct debug_store *store, const char *build_id)
{
	const struct debug_file *best = NULL;

	for (unsigned i = 0; i < store->count && !store->is_indexed; i++)
		debug_store_index_directory(store, store->directories[i]);
	store->is_indexed = true;
	for (uint32_t i = 0; i < store->file_count; i++)
		if (!strcmp(store->files[i].build_id, build_id) &&
		    (!best || store->files[i].content > best->content))
			best = &store->files[i];
	return best ? strdup(best->path) : NULL;
}

/* Whether TEXT is hexadecimal and of plausible length. It becomes part of paths and URLs. */
static bool text_is_build_id(const char *text)
{
	size_t length = strlen(text);

	return length >= 4 && length < HEX_MAX && strspn(text, "0123456789abcdef") == length;
}

char *debug_store_find(struct debug_store *store, const char *build_id, const char *name)
{
	char *path;

	if (!text_is_build_id(build_id))
		return NULL;
	path = debug_store_find_by_path(store, build_id);
	if (!path)
		path = debug_store_find_indexed(store, build_id);
	if (!path && store->debuginfod)
		path = debuginfod_find(store->debuginfod, build_id, name);
	return path;
}

void debug_store_close(struct debug_store *store)
{
	if (!store)
		return;
	while (store->file_count)
		free(store->files[--store->file_count].path);
	free(store->files);
	debuginfod_close(store->debuginfod);
	free(store);
}
