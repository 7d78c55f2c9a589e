/* Symbolization: sorts a batch of program counters by module, asks the cache, and resolves the rest
 * from each module's sources. */
#include "engine/symbols/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/modules/function_starts.h"
#include "engine/modules/modules.h"
#include "engine/process/perf_list.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/module_symbols.h"
#include "engine/symbols/perf_map.h"
#include "engine/symbols/symbol_cache.h"

/* Addresses of one module that are matched in one pass over its symbols. */
#define BATCH_MAX 2048

struct symbols {
	struct symbol_cache cache;
	struct string_pool modules; /* module names; freed after each chunk */
	struct demangler *demangler;
	struct perf_map perf_map;
};

/* Addresses of one module that are not in the cache. */
struct batch {
	struct symbols *symbols;
	const struct module *module; /* NULL: code without a file */
	uint64_t key;
	struct symbol_match *matches; /* BATCH_MAX entries, sorted */
	size_t count;
};

int symbols_open(struct symbols **out)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	int err;

	if (!symbols)
		return -ENOMEM;
	err = demangler_open(&symbols->demangler);
	if (err) {
		free(symbols);
		return err;
	}
	*out = symbols;
	return 0;
}

void symbols_close(struct symbols *symbols)
{
	if (!symbols)
		return;
	demangler_close(symbols->demangler);
	string_pool_free(&symbols->modules);
	symbol_cache_free(&symbols->cache);
	free(symbols);
}

void symbols_release(struct symbols *symbols)
{
	symbol_cache_trim(&symbols->cache);
	string_pool_free(&symbols->modules);
	demangler_trim(symbols->demangler);
}

/* Key of a module: the same file has the same key at any address, and after a reload. */
static uint64_t module_key(const struct module *module)
{
	uint64_t key;

	if (!module)
		return 0;
	key = string_hash(module->build_id, module->build_id_size, 0);
	if (!module->build_id_size)
		key = string_hash(&module->loaded_ticks, sizeof(module->loaded_ticks), key);
	key = string_hash(module->path, strlen(module->path), key);
	return key ? key : 1;
}

static uint64_t address_in(const struct module *module, uintptr_t pc)
{
	return module ? pc - module->bias : pc;
}

/* Name as in async-profiler: the base name of the file, and "vdso" without the brackets. */
static const char *module_name(struct symbols *symbols, const struct module *module)
{
	const char *path = module->path, *slash = strrchr(path, '/');
	size_t length = strlen(path);
	char name[32];

	if (path[0] != '[' || length < 3 || length - 2 >= sizeof(name))
		return string_pool_intern(&symbols->modules, slash ? slash + 1 : path);
	memcpy(name, path + 1, length - 2);
	name[length - 2] = '\0';
	return string_pool_intern(&symbols->modules, name);
}

/* Store the name of MATCH: TEXT, which may be mangled, and then SUFFIX. */
static int batch_set_name(void *context, const struct symbol_match *match, const char *text,
			  const char *suffix)
{
	struct batch *batch = context;
	struct symbol_cache *cache = &batch->symbols->cache;
	struct symbol_entry *entry = symbol_cache_find(cache, batch->key, match->address);
	const char *plain = demangle(batch->symbols->demangler, text);
	char *whole = NULL;

	entry->type = plain ? JFR_FRAME_CPP : JFR_FRAME_NATIVE;
	entry->start = match->start;
	if (!plain)
		plain = text;
	if (*suffix) {
		if (asprintf(&whole, "%s%s", plain, suffix) < 0)
			return -ENOMEM;
		plain = whole;
	}
	entry->name = string_pool_intern(&cache->strings, plain);
	free(whole);
	return entry->name ? 0 : -ENOMEM;
}

static int batch_set_inlined(void *context, const struct symbol_match *match, const char *list)
{
	struct batch *batch = context;
	struct symbol_cache *cache = &batch->symbols->cache;
	struct symbol_entry *entry = symbol_cache_find(cache, batch->key, match->address);

	entry->inlined = string_pool_add_list(&cache->strings, list);
	return entry->inlined ? 0 : -ENOMEM;
}

/* Name an address that no source knows by the START of its function, or by itself if that is 0. */
static int batch_set_place(struct batch *batch, struct symbol_entry *entry, uint64_t start)
{
	struct string_pool *strings = &batch->symbols->cache.strings;
	const char *file = module_name(batch->symbols, batch->module);
	char *text;

	entry->start = start ? start : entry->address;
	if (!file || asprintf(&text, "%s+0x%" PRIx64, file, entry->start) < 0)
		return -ENOMEM;
	entry->type = JFR_FRAME_NATIVE;
	entry->name = string_pool_intern(strings, text);
	free(text);
	return entry->name ? 0 : -ENOMEM;
}

/* Resolve the addresses in BATCH and clear it. */
static int batch_flush(struct batch *batch)
{
	struct symbol_cache *cache = &batch->symbols->cache;
	struct symbol_entry *entry;
	int err = 0;

	if (batch->count)
		err = module_symbols_match(batch->module, batch->matches, batch->count,
					   batch_set_name, batch_set_inlined, batch);
	for (size_t i = 0; i < batch->count && !err; i++) {
		entry = symbol_cache_find(cache, batch->key, batch->matches[i].address);
		if (!entry->name)
			err = batch_set_place(batch, entry, batch->matches[i].start);
	}
	batch->count = 0;
	return err;
}

/* Start of the function at PC, from its code; 0 if not known. Assembler functions of musl have
 * symbols without a size, or none. */
static uint64_t function_begin(const struct module *module, uintptr_t pc)
{
	uint64_t offset = function_starts_find(module->table, pc - module->start);

	return offset == UINT64_MAX ? 0 : address_in(module, module->start + offset);
}

/* Make a cache entry for PC, the next in order, and add it to the batch if it has no name. */
static int batch_add(struct batch *batch, uintptr_t pc)
{
	const struct module *module = modules_find(pc);
	struct symbol_entry *entry;
	int err = 0;

	if (module != batch->module || batch->count == BATCH_MAX) {
		err = batch_flush(batch);
		batch->module = module;
		batch->key = module_key(module);
	}
	if (err)
		return err;
	entry = symbol_cache_add(&batch->symbols->cache, batch->key, address_in(module, pc));
	if (!entry)
		return -ENOMEM;
	if (module && !entry->name) {
		memset(&batch->matches[batch->count], 0, sizeof(*batch->matches));
		batch->matches[batch->count].begin = function_begin(module, pc);
		batch->matches[batch->count++].address = entry->address;
	}
	return 0;
}

/* Name those of the sorted PCS that are in no file. All entries exist by now, so pointers to them stay valid. */
static int symbols_name_generated(struct symbols *symbols, const uintptr_t *pcs, size_t count)
{
	struct symbol_entry **entries = malloc(count * sizeof(*entries));
	char path[64];
	size_t n = 0;
	int err = 0;

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!modules_find(pcs[i]))
			entries[n++] = symbol_cache_find(&symbols->cache, 0, pcs[i]);
	if (n) {
		perf_list_path(path, sizeof(path));
		err = perf_map_resolve(&symbols->perf_map, path, entries, n,
				       &symbols->cache.strings);
	}
	free(entries);
	/* Most programs have no such list, and a malformed list must not prevent other names. */
	return err == -ENOMEM ? err : 0;
}

static int symbol_fill(struct symbols *symbols, uintptr_t pc, struct symbol *out)
{
	const struct module *module = modules_find(pc);
	const struct symbol_entry *entry =
		symbol_cache_find(&symbols->cache, module_key(module), address_in(module, pc));
	char text[24];

	out->start = pc;
	out->link_address = module ? address_in(module, pc) : 0;
	if (!module && !entry->name) { /* not stored: it may get a name later */
		snprintf(text, sizeof(text), "0x%" PRIxPTR, pc);
		out->name = string_pool_intern(&symbols->modules, text);
		out->module = "";
		out->type = JFR_FRAME_NATIVE;
		return out->name ? 0 : -ENOMEM;
	}
	out->name = entry->name;
	out->inlined = entry->inlined;
	out->start = (uintptr_t)entry->start + (module ? module->bias : 0);
	out->type = module ? entry->type : JFR_FRAME_JIT;
	out->module = module ? module_name(symbols, module) : "jit";
	return out->module ? 0 : -ENOMEM;
}

static int compare_pcs(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return (x > y) - (x < y);
}

/* Sort PCS in place and remove duplicates; returns the number that remains. */
static size_t sort_unique(uintptr_t *pcs, size_t count)
{
	size_t n = 0;

	qsort(pcs, count, sizeof(*pcs), compare_pcs);
	for (size_t i = 0; i < count; i++)
		if (!n || pcs[i] != pcs[n - 1])
			pcs[n++] = pcs[i];
	return n;
}

int symbols_resolve(struct symbols *symbols, const uintptr_t *pcs, size_t count, struct symbol *out)
{
	struct batch batch = { .symbols = symbols };
	uintptr_t *sorted = NULL;
	size_t n = 0;
	int err = 0;

	if (!count)
		return 0;
	sorted = malloc(count * sizeof(*sorted));
	batch.matches = malloc(BATCH_MAX * sizeof(*batch.matches));
	if (!sorted || !batch.matches) {
		err = -ENOMEM;
		goto out;
	}
	memcpy(sorted, pcs, count * sizeof(*sorted));
	n = sort_unique(sorted, count);
	for (size_t i = 0; i < n && !err; i++)
		err = batch_add(&batch, sorted[i]);
	if (!err)
		err = batch_flush(&batch);
	if (!err)
		err = symbols_name_generated(symbols, sorted, n);
	for (size_t i = 0; i < count && !err; i++)
		err = symbol_fill(symbols, pcs[i], &out[i]);
out:
	free(batch.matches);
	free(sorted);
	return err;
}

struct variable {
	struct symbols *symbols;
	char *name;
	size_t size;
	bool found;
};

static int variable_set_name(void *context, const struct symbol_match *match, const char *text,
			     const char *suffix)
{
	struct variable *variable = context;
	const char *plain = demangle(variable->symbols->demangler, text);
	uint64_t offset = match->address - match->start;

	if (!match->covering.set || *suffix) /* not from a symbol table */
		return 0;
	variable->found = true;
	snprintf(variable->name, variable->size, offset ? "%s+0x%" PRIx64 : "%s",
		 plain ? plain : text, offset);
	return 0;
}

int symbols_variable(struct symbols *symbols, uintptr_t address, char *name, size_t size)
{
	const struct module *module = modules_find_data(address);
	struct variable variable = { .symbols = symbols, .name = name, .size = size };
	struct symbol_match match = { .is_data = true };
	int err;

	if (!module)
		return -ENOENT;
	match.address = address - module->bias;
	err = module_symbols_match(module, &match, 1, variable_set_name, NULL, &variable);
	return err ? err : variable.found ? 0 : -ENOENT;
}
