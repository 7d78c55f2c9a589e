/* Program counters to names: sorts a batch by module, asks the cache, and has each module's
 * sources answer what is left. */
#include "engine/symbols/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/modules/function_starts.h"
#include "engine/modules/modules.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/module_symbols.h"
#include "engine/symbols/perf_map.h"
#include "engine/symbols/symbol_cache.h"

/* So many addresses of one module are matched in one pass over its symbols. */
#define BATCH_MAX 2048

struct symbols {
	struct symbol_cache cache;
	struct string_pool modules; /* their names; dropped with each chunk */
	struct demangler *demangler;
	struct perf_map perf_map;

	/* Of a dead process; PID 0: this one, whose modules are known. */
	const struct module *among;
	size_t among_count;
	pid_t pid;
};

/* Addresses of one module that the cache does not know. */
struct batch {
	struct symbols *symbols;
	const struct module *module; /* NULL: code of no file */
	uint64_t key;
	struct symbol_match *matches; /* BATCH_MAX, sorted */
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

int symbols_open_among(struct symbols **out, const struct module *modules, size_t count, pid_t pid)
{
	int err = symbols_open(out);

	if (err)
		return err;
	(*out)->among = modules;
	(*out)->among_count = count;
	(*out)->pid = pid;
	return 0;
}

static const struct module *find_module(const struct symbols *symbols, uintptr_t pc)
{
	if (!symbols->pid)
		return modules_find(pc);
	for (size_t i = symbols->among_count; i > 0; i--)
		if (pc >= symbols->among[i - 1].start && pc < symbols->among[i - 1].end)
			return &symbols->among[i - 1];
	return NULL;
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

/* The same file is the same module wherever it is mapped, and when it comes again. */
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

/* As async-profiler has it: the file's base name, and "vdso" without the brackets. */
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

/* A source tells the name of MATCH: TEXT, perhaps mangled, and then SUFFIX. */
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

/* What no source knows is called by where it is. */
static int batch_set_place(struct batch *batch, struct symbol_entry *entry)
{
	struct string_pool *strings = &batch->symbols->cache.strings;
	const char *file = module_name(batch->symbols, batch->module);
	char *text;

	if (!file || asprintf(&text, "%s+0x%" PRIx64, file, entry->address) < 0)
		return -ENOMEM;
	entry->type = JFR_FRAME_NATIVE;
	entry->start = entry->address;
	entry->name = string_pool_intern(strings, text);
	free(text);
	return entry->name ? 0 : -ENOMEM;
}

/* Resolve what has gathered in BATCH, and empty it. */
static int batch_flush(struct batch *batch)
{
	struct symbol_cache *cache = &batch->symbols->cache;
	struct symbol_entry *entry;
	int err = 0;

	if (batch->count)
		err = module_symbols_match(batch->module, batch->matches, batch->count,
					   batch_set_name, batch);
	for (size_t i = 0; i < batch->count && !err; i++) {
		entry = symbol_cache_find(cache, batch->key, batch->matches[i].address);
		if (!entry->name)
			err = batch_set_place(batch, entry);
	}
	batch->count = 0;
	return err;
}

/* Where the function at PC begins, by its code: of musl's, those in assembler have symbols without a size, and some
 * have none. 0: not known. */
static uint64_t cached_begin(const struct module *module, uintptr_t pc)
{
	uint64_t offset = function_starts_find(module->table, pc - module->start);

	return offset == UINT64_MAX ? 0 : address_in(module, module->start + offset);
}

/* Make an entry for PC, the next in order, and ask for its name when it has none. */
static int batch_add(struct batch *batch, uintptr_t pc)
{
	const struct module *module = find_module(batch->symbols, pc);
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
		batch->matches[batch->count].begin = cached_begin(module, pc);
		batch->matches[batch->count++].address = entry->address;
	}
	return 0;
}

/* Names for those of the sorted PCS that are in no file. All entries are there by now, so that
 * pointers to them stay good. */
static int symbols_name_generated(struct symbols *symbols, const uintptr_t *pcs, size_t count)
{
	struct symbol_entry **entries = malloc(count * sizeof(*entries));
	char path[64];
	size_t n = 0;
	int err = 0;

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!find_module(symbols, pcs[i]))
			entries[n++] = symbol_cache_find(&symbols->cache, 0, pcs[i]);
	if (n) {
		perf_map_path(path, sizeof(path), symbols->pid);
		err = perf_map_resolve(&symbols->perf_map, path, entries, n,
				       &symbols->cache.strings);
	}
	free(entries);
	/* Most programs have no such list, and a bad one is no reason to go without the rest. */
	return err == -ENOMEM ? err : 0;
}

static int symbol_fill(struct symbols *symbols, uintptr_t pc, struct symbol *out)
{
	const struct module *module = find_module(symbols, pc);
	const struct symbol_entry *entry =
		symbol_cache_find(&symbols->cache, module_key(module), address_in(module, pc));
	char text[24];

	out->start = pc;
	out->link_address = module ? address_in(module, pc) : 0;
	if (!module && !entry->name) { /* nothing that stays true: it may get a name yet */
		snprintf(text, sizeof(text), "0x%" PRIxPTR, pc);
		out->name = string_pool_intern(&symbols->modules, text);
		out->module = "";
		out->type = JFR_FRAME_NATIVE;
		return out->name ? 0 : -ENOMEM;
	}
	out->name = entry->name;
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

/* Sort PCS in place, without duplicates; returns how many are left. */
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
