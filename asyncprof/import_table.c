/* The import table of a library. */
#include "asyncprof/import_table.h"

#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "asyncprof/loader_gate.h"
#include "preload/interpose/import_slots.h"

struct search {
	uintptr_t inside;
	struct import_module module;
};

static bool segments_contain(const struct dl_phdr_info *info, uintptr_t address)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD &&
		    address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
			return true;
	}
	return false;
}

static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;

	(void)size;
	if (!segments_contain(info, search->inside))
		return 0;
	import_module_read(&search->module, info);
	return 1;
}

static int slots_visit(const void *inside, import_visitor *visit, void *data)
{
	struct search search = { .inside = (uintptr_t)inside };

	loader_gate_enter();
	dl_iterate_phdr(find_library, &search);
	loader_gate_leave();
	return search.module.dynamic ? import_slots_visit(&search.module, visit, data) : -ENOENT;
}

struct redirection {
	const struct import *imports;
	size_t count;
};

static int slot_redirect(const struct import_module *module, void **slot, const ElfW(Sym) * symbol,
			 const char *name, void *data)
{
	const struct redirection *with = data;

	(void)symbol;
	for (size_t i = 0; i < with->count; i++)
		if (!strcmp(name, with->imports[i].name))
			return import_slot_set(module, slot, with->imports[i].function);
	return 0;
}

int import_table_redirect(const void *inside, const struct import *imports, size_t count)
{
	struct redirection with = { imports, count };

	return slots_visit(inside, slot_redirect, &with);
}

struct slot_reading {
	const char *const *names;
	void **bound;
	size_t count;
};

static int slot_read(const struct import_module *module, void **slot, const ElfW(Sym) * symbol,
		     const char *name, void *data)
{
	const struct slot_reading *reading = data;

	(void)module;
	(void)symbol;
	for (size_t i = 0; i < reading->count; i++)
		if (!strcmp(name, reading->names[i]))
			reading->bound[i] = *slot;
	return 0;
}

int import_table_read(const void *inside, const char *const *names, void **bound, size_t count)
{
	struct slot_reading reading = { names, bound, count };

	memset(bound, 0, count * sizeof(*bound));
	return slots_visit(inside, slot_read, &reading);
}
