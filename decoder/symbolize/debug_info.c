/* One debug file: debug information, read by libdw, and symbols. */
#include "decoder/symbolize/debug_info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/hex.h"
#include "decoder/symbolize/crash_guard.h"
#include "decoder/symbolize/dwarf_file.h"
#include "decoder/symbolize/dwarf_frames.h"
#include "engine/elf/elf.h"
#include "engine/elf/elf_identity.h"
#include "engine/symbols/symbol_table.h"

#define SYMBOL_MAX 4096

struct debug_info {
	const struct dwarf_library *lib;
	char *path;
	struct elf *elf; /* for symbols */
	struct dwarf_file main;
	struct dwarf_file shared; /* common parts that dwz has moved out of several files */
	struct intern names;      /* see dwarf_frames.h */
	char symbol[SYMBOL_MAX];
};

/* Open the file that dwz has moved common parts of several files to. It has a build-id too. Without it, some
 * names are missing. */
static void debug_info_open_shared(struct debug_info *info, struct debug_store *store,
				   const char *name)
{
	char text[2 * ELF_BUILD_ID_MAX + 1], *path;
	const char *link;
	const void *id;
	ssize_t length = info->lib->dwelf_dwarf_gnu_debugaltlink(info->main.dwarf, &link, &id);

	if (length <= 0 || length > ELF_BUILD_ID_MAX)
		return;
	*hex_encode(text, id, (size_t)length) = '\0';
	path = debug_store_find(store, text, name ? name : "");
	if (path && !dwarf_file_open(&info->shared, info->lib, path,
				     DEBUG_INFO_UNPACKED_MAX - info->main.unpacked, name))
		info->lib->dwarf_setalt(info->main.dwarf, info->shared.dwarf);
	free(path);
}

int debug_info_open(struct debug_info **out, struct debug_store *store, const char *path,
		    const char *name)
{
	struct debug_info *info = calloc(1, sizeof(*info));
	int err;

	if (!info)
		return -ENOMEM;
	info->main = info->shared = (struct dwarf_file)DWARF_FILE_CLOSED;
	info->lib = dwarf_library();
	info->path = strdup(path);
	err = !info->path ? -ENOMEM : info->lib ? elf_open(&info->elf, path) : -ENOENT;
	if (err) {
		debug_info_close(info);
		return err;
	}
	crash_guard_enter(path);
	if (!crash_guard_excludes(path) &&
	    !dwarf_file_open(&info->main, info->lib, path, DEBUG_INFO_UNPACKED_MAX, name))
		debug_info_open_shared(info, store, name);
	crash_guard_leave();
	*out = info;
	return 0;
}

void debug_info_close(struct debug_info *info)
{
	if (!info)
		return;
	if (info->main.dwarf)
		crash_guard_enter(info->path);
	if (info->lib) {
		dwarf_file_close(&info->main, info->lib);
		dwarf_file_close(&info->shared, info->lib);
	}
	crash_guard_leave();
	elf_close(info->elf);
	intern_free(&info->names);
	free(info->path);
	free(info);
}

/* Returns the function at ADDRESS in the symbol table, or NULL. */
static const char *debug_info_symbol_name(struct debug_info *info, uint64_t address)
{
	const Elf64_Shdr *table = elf_find_section_type(info->elf, SHT_SYMTAB), *strings;
	struct symbol_match match = { .address = address };

	if (!table || table->sh_type == SHT_NOBITS)
		return NULL;
	strings = elf_section(info->elf, table->sh_link);
	if (!strings || symbol_table_match(info->elf, table, strings, &match, 1) || !match.found ||
	    elf_string(info->elf, strings, match.name, info->symbol, SYMBOL_MAX) <= 0)
		return NULL;
	return info->symbol;
}

size_t debug_info_frames(struct debug_info *info, uint64_t address,
			 struct debug_frame frames[DEBUG_FRAMES_MAX])
{
	size_t count = 0;

	crash_guard_enter(info->path);
	if (info->main.dwarf)
		count = dwarf_frames(info->lib, info->main.dwarf, &info->names, address, frames);
	crash_guard_leave();
	if (!count) {
		frames[0] = (struct debug_frame){ .name = debug_info_symbol_name(info, address) };
		return frames[0].name ? 1 : 0;
	}
	if (!frames[count - 1].name)
		frames[count - 1].name = debug_info_symbol_name(info, address);
	return count;
}
