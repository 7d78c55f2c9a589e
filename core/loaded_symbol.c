/* Lookup of symbols by the hash tables of the loaded modules.
 *
 * Source: "ELF: From The Programmer's Perspective" and the gABI for DT_HASH; for DT_GNU_HASH, the comments of
 * binutils and glibc. */
#include "core/loaded_symbol.h"

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

/* Flag in DT_VERSYM: not the default version. */
#define HIDDEN_VERSION 0x8000u

struct tables {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *names;
	const uint16_t *versions; /* NULL: none */
	const uint32_t *gnu_hash, *hash;
};

struct search {
	const char *name;
	uint32_t gnu_hash, hash;
	bool after_this, passed_this;
	struct loaded_symbol found;
};

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 0;

	for (; *name; name++) {
		hash = (hash << 4) + (unsigned char)*name;
		hash ^= hash >> 24 & 0xf0;
	}
	return hash & 0x0fffffff;
}

/* Some loaders store addresses where the file has offsets. */
static const void *entry_address(uintptr_t base, uintptr_t value)
{
	return (const void *)(value < base ? base + value : value);
}

static bool tables_read(struct tables *t, uintptr_t base, const ElfW(Dyn) * entry)
{
	*t = (struct tables){ .base = base };
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		const void *at = entry_address(base, entry->d_un.d_ptr);

		if (entry->d_tag == DT_SYMTAB)
			t->symbols = at;
		else if (entry->d_tag == DT_STRTAB)
			t->names = at;
		else if (entry->d_tag == DT_VERSYM)
			t->versions = at;
		else if (entry->d_tag == DT_GNU_HASH)
			t->gnu_hash = at;
		else if (entry->d_tag == DT_HASH)
			t->hash = at;
	}
	return t->symbols && t->names;
}

static bool symbol_matches(const struct tables *t, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &t->symbols[index];
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value && type != STT_TLS &&
	       !(t->versions && t->versions[index] & HIDDEN_VERSION) &&
	       !strcmp(t->names + symbol->st_name, name);
}

/* Return the symbol's index; 0, which is never a symbol, when it is not found. */
static uint32_t symbol_find_by_gnu_hash(const struct tables *t, const struct search *search)
{
	const uint32_t *header = t->gnu_hash; /* buckets, first index, words of the filter, shift */
	const uint64_t *filter = (const void *)(header + 4);
	const uint32_t *buckets = (const void *)(filter + header[2]);
	const uint32_t *chains = buckets + header[0];
	uint32_t hash = search->gnu_hash, index;
	uint64_t word = filter[hash / 64 % header[2]];

	if (!(word >> hash % 64 & 1) || !(word >> (hash >> header[3]) % 64 & 1))
		return 0;
	index = header[0] ? buckets[hash % header[0]] : 0;
	if (index < header[1])
		return 0;
	for (;; index++) {
		uint32_t here = chains[index - header[1]];

		if ((here | 1) == (hash | 1) && symbol_matches(t, index, search->name))
			return index;
		if (here & 1)
			return 0;
	}
}

static uint32_t symbol_find_by_hash(const struct tables *t, const struct search *search)
{
	const uint32_t *buckets = t->hash + 2, *chains = buckets + t->hash[0];
	uint32_t index = t->hash[0] ? buckets[search->hash % t->hash[0]] : 0;

	while (index && !symbol_matches(t, index, search->name))
		index = chains[index];
	return index;
}

/* Call the resolver of an indirect function. */
static void *symbol_address(const struct tables *t, const ElfW(Sym) * symbol)
{
	void *address = (void *)(t->base + symbol->st_value);

	if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		address = ((void *(*)(unsigned long))address)(getauxval(AT_HWCAP));
	return address;
}

/* Search the module at BASE, whose name of the loader is NAME. Returns true when the symbol is found. */
static bool module_find_symbol(struct search *search, uintptr_t base, const ElfW(Dyn) * dynamic,
			       const char *name)
{
	struct tables t;
	uint32_t index = 0;

	if (search->after_this && !search->passed_this) {
		search->passed_this = dynamic == _DYNAMIC;
		return false;
	}
	if (!tables_read(&t, base, dynamic))
		return false;
	if (t.gnu_hash)
		index = symbol_find_by_gnu_hash(&t, search);
	else if (t.hash)
		index = symbol_find_by_hash(&t, search);
	if (!index)
		return false;
	search->found = (struct loaded_symbol){ .address = symbol_address(&t, &t.symbols[index]),
						.size = t.symbols[index].st_size,
						.module = dynamic,
						.in_file = name };
	return true;
}

static int module_find_symbol_by_info(struct dl_phdr_info *info, size_t size, void *data)
{
	const ElfW(Dyn) *dynamic = NULL;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return module_find_symbol(data, info->dlpi_addr, dynamic, info->dlpi_name);
}

/* ---- Loaded modules ---- */

/* glibc's symbol, and musl's pointer to the same data. Both are weak: each loader has only one. */
extern struct r_debug _r_debug __attribute__((weak));
extern struct r_debug *_dl_debug_addr __attribute__((weak));

const struct r_debug *loaded_debug(void)
{
	if (&_r_debug)
		return &_r_debug;
	return &_dl_debug_addr ? _dl_debug_addr : NULL;
}

/* Modules that are loaded at the start are never unloaded. So the search in them needs no lock and no loader
 * function. Another library may wrap such a function before it is ready, as the thread sanitizer does. LAST is the
 * last of these modules: all are loaded before any code can call this. */
static const struct link_map *_Atomic last;

static const struct link_map *symbol_find_last(const struct link_map *map)
{
	const struct link_map *known = atomic_load_explicit(&last, memory_order_relaxed);

	if (known)
		return known;
	while (map->l_next)
		map = map->l_next;
	atomic_store_explicit(&last, map, memory_order_relaxed);
	return map;
}

static struct loaded_symbol symbol_find(const char *name, bool after_this, bool only_first)
{
	struct search search = { .name = name,
				 .gnu_hash = gnu_hash_of(name),
				 .hash = hash_of(name),
				 .after_this = after_this };
	const struct r_debug *debug = loaded_debug();
	const struct link_map *map = debug ? debug->r_map : NULL, *end;

	if (map) {
		for (end = symbol_find_last(map);; map = map->l_next) {
			if (module_find_symbol(&search, map->l_addr, map->l_ld, map->l_name))
				return search.found;
			if (map == end)
				break;
		}
		if (only_first || !__atomic_load_n(&end->l_next, __ATOMIC_RELAXED))
			return search.found; /* or no other modules are loaded */
		search.passed_this = false;
	}
	dl_iterate_phdr(module_find_symbol_by_info, &search);
	return search.found;
}

struct loaded_symbol loaded_symbol_next(const char *name)
{
	return symbol_find(name, true, false);
}

struct loaded_symbol loaded_symbol_next_at_start(const char *name)
{
	return symbol_find(name, true, true);
}

struct loaded_symbol loaded_symbol_first(const char *name)
{
	return symbol_find(name, false, false);
}

struct module_query {
	uintptr_t address;
	struct loaded_module result;
};

static int module_contains(struct dl_phdr_info *info, size_t size, void *data)
{
	struct loaded_module module = { UINTPTR_MAX, 0, info->dlpi_name };
	struct module_query *module_query = data;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		if (start < module.low)
			module.low = start;
		if (start + segment->p_memsz > module.high)
			module.high = start + segment->p_memsz;
	}
	if (module_query->address < module.low || module_query->address >= module.high)
		return 0;
	module_query->result = module;
	return 1;
}

struct loaded_module loaded_module_of(const void *address)
{
	struct module_query module_query = { .address = (uintptr_t)address };

	dl_iterate_phdr(module_contains, &module_query);
	return module_query.result;
}

static int segment_contains(struct dl_phdr_info *info, size_t size, void *data)
{
	struct module_query *query = data;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || segment->p_flags & PF_W ||
		    query->address - start >= segment->p_memsz)
			continue;
		query->result =
			(struct loaded_module){ start, start + segment->p_memsz, info->dlpi_name };
		return 1;
	}
	return 0;
}

struct loaded_module loaded_read_only_segment(const void *address)
{
	struct module_query query = { .address = (uintptr_t)address };

	dl_iterate_phdr(segment_contains, &query);
	return query.result;
}

const char *loaded_own_file(void)
{
	const struct r_debug *debug = loaded_debug();
	const struct link_map *map = debug ? debug->r_map : NULL;

	while (map && map->l_ld != _DYNAMIC)
		map = map->l_next;
	return map ? map->l_name : NULL;
}

bool loaded_after_others(void)
{
	const struct r_debug *debug = loaded_debug();
	const struct link_map *map = debug && debug->r_map ? debug->r_map->l_next : NULL;

	while (map && map->l_addr == getauxval(AT_SYSINFO_EHDR))
		map = map->l_next;
	return map && map->l_ld != _DYNAMIC;
}
