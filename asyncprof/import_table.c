/* The import table of a library. */
#include "asyncprof/import_table.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "asyncprof/loader_gate.h"

struct library {
	uintptr_t inside, base;
	const ElfW(Dyn) * dynamic;
	uintptr_t relro,
		relro_end; /* range that the dynamic linker has write-protected; empty when there is none */
};

static bool library_contains(const struct library *library, const struct dl_phdr_info *info)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD &&
		    library->inside - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
			return true;
	}
	return false;
}

static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
	struct library *library = data;

	(void)size;
	if (!library_contains(library, info))
		return 0;
	library->base = info->dlpi_addr;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_DYNAMIC)
			library->dynamic = (const ElfW(Dyn) *)start;
		if (segment->p_type != PT_GNU_RELRO)
			continue;
		library->relro = start;
		library->relro_end = start + segment->p_memsz;
	}
	return 1;
}

/* Return the value of TAG; 0 when there is none. */
static uintptr_t dynamic_value(const struct library *library, ElfW(Sxword) tag)
{
	for (const ElfW(Dyn) *entry = library->dynamic; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == tag)
			return entry->d_un.d_val;
	return 0;
}

/* Return the table of TAG. glibc's dynamic linker has replaced the offset by an address; musl's has not. */
static const void *dynamic_table(const struct library *library, ElfW(Sxword) tag)
{
	uintptr_t at = dynamic_value(library, tag);

	return (const void *)(at < library->base ? library->base + at : at);
}

/* Set SLOT to FUNCTION. Other threads may be calling it. */
static int slot_set(const struct library *library, void **slot, void *function)
{
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)slot;
	void *page = (void *)(at - at % page_bytes);
	bool protected = at >= library->relro && at < library->relro_end;

	if (protected && mprotect(page, page_bytes, PROT_READ | PROT_WRITE))
		return -errno;
	__atomic_store_n(slot, function, __ATOMIC_RELEASE);
	if (protected && mprotect(page, page_bytes, PROT_READ))
		return -errno;
	return 0;
}

/* Called for each slot, with the name of its function. Returns 0 or -errno. */
typedef int slot_visitor(const struct library *library, void **slot, const char *name, void *data);

static int slot_visit(const struct library *library, const ElfW(Rela) * relocation,
		      slot_visitor *visit, void *data)
{
	const ElfW(Sym) *symbols = dynamic_table(library, DT_SYMTAB);
	const char *strings = dynamic_table(library, DT_STRTAB);
	const char *name = strings + symbols[ELF64_R_SYM(relocation->r_info)].st_name;
	uint64_t type = ELF64_R_TYPE(relocation->r_info);

	if (type != ARCH_R_FUNCTION && type != ARCH_R_VARIABLE)
		return 0;
	return visit(library, (void **)(library->base + relocation->r_offset), name, data);
}

static int slots_visit(const void *inside, slot_visitor *visit, void *data)
{
	static const struct {
		ElfW(Sxword) relocations, bytes;
	} tables[] = { { DT_JMPREL, DT_PLTRELSZ }, { DT_RELA, DT_RELASZ } };
	struct library library = { .inside = (uintptr_t)inside };
	int err = 0;

	loader_gate_enter();
	dl_iterate_phdr(find_library, &library);
	loader_gate_leave();
	if (!library.dynamic)
		return -ENOENT;
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		const ElfW(Rela) *relocations = dynamic_table(&library, tables[t].relocations);
		size_t n = dynamic_value(&library, tables[t].bytes) / sizeof(*relocations);

		for (size_t i = 0; i < n && !err; i++)
			err = slot_visit(&library, &relocations[i], visit, data);
	}
	return err;
}

struct redirection {
	const struct import *imports;
	size_t count;
};

static int slot_redirect(const struct library *library, void **slot, const char *name, void *data)
{
	const struct redirection *with = data;

	for (size_t i = 0; i < with->count; i++)
		if (!strcmp(name, with->imports[i].name))
			return slot_set(library, slot, with->imports[i].function);
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

static int slot_read(const struct library *library, void **slot, const char *name, void *data)
{
	const struct slot_reading *reading = data;

	(void)library;
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
