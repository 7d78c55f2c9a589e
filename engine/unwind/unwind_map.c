/* The published map of modules and the cache in front of it. */
#include "engine/unwind/unwind_map.h"

#include "core/system.h"

_Alignas(ARCH_PAGE_MAX) _Atomic uint64_t unwind_cache[1 << UNWIND_CACHE_BITS];

_Static_assert(sizeof(unwind_cache) % ARCH_PAGE_MAX == 0, "nothing else is emptied with it");

static _Atomic(struct unwind_map *) current;
static atomic_uint readers; /* handlers between reading CURRENT and their last use of it */

static void cache_clear(void)
{
	/* Only read untouched pages, which then cost no memory. */
	for (size_t i = 0; i < sizeof(unwind_cache) / sizeof(unwind_cache[0]); i++)
		if (atomic_load_explicit(&unwind_cache[i], memory_order_relaxed))
			atomic_store_explicit(&unwind_cache[i], 0, memory_order_relaxed);
}

struct unwind_map *unwind_map_publish(struct unwind_map *map)
{
	struct unwind_map *old = atomic_exchange(&current, map);

	if (!old)
		system_empty_in_children(unwind_cache, sizeof(unwind_cache));
	cache_clear();
	return old;
}

bool unwind_map_quiet(void)
{
	/* Sequentially consistent with the reader's increment: a later reader sees the newest map.
	 * A reader that has ended may have cached an answer from an older map. */
	if (atomic_load(&readers))
		return false;
	cache_clear();
	return true;
}

void unwind_map_after_fork(void)
{
	/* The map may be memory of the agent's thread, which ended in this process. */
	atomic_store(&current, NULL);
	atomic_store(&readers, 0);
}

static struct unwind_map_entry *find_entry(struct unwind_map *map, uintptr_t pc)
{
	size_t begin = 0, end = map ? map->count : 0, middle;

	while (begin < end) {
		middle = begin + (end - begin) / 2;
		if (map->entries[middle].start <= pc)
			begin = middle + 1;
		else
			end = middle;
	}
	if (!begin || pc >= map->entries[begin - 1].end)
		return NULL;
	return &map->entries[begin - 1];
}

bool unwind_map_has_module(uintptr_t pc)
{
	bool known;

	atomic_fetch_add(&readers, 1);
	known = find_entry(atomic_load(&current), pc);
	atomic_fetch_sub_explicit(&readers, 1, memory_order_release);
	return known;
}

bool unwind_map_is_readable(uintptr_t address, size_t size)
{
	const struct unwind_map_entry *entry;
	bool readable;

	atomic_fetch_add(&readers, 1);
	entry = find_entry(atomic_load(&current), address);
	readable = entry && entry->readable && size <= entry->end - address;
	atomic_fetch_sub_explicit(&readers, 1, memory_order_release);
	return readable;
}

static uintptr_t row_begin(const struct unwind_map_entry *entry, uintptr_t pc)
{
	uint32_t row = unwind_table_row(entry->table, pc - entry->start);

	return row ? entry->start + unwind_table_row_begin(entry->table, pc - entry->start, row)
		   : 0;
}

uintptr_t unwind_map_function(uintptr_t pc)
{
	const struct unwind_map_entry *entry;
	uintptr_t begin = 0;

	atomic_fetch_add(&readers, 1);
	entry = find_entry(atomic_load(&current), pc);
	if (entry && entry->table && entry->table->starts)
		begin = row_begin(entry, pc);
	atomic_fetch_sub_explicit(&readers, 1, memory_order_release);
	return begin;
}

void unwind_map_cache_rule(uintptr_t pc, uint16_t rule)
{
	/* Release: a reader that finds the word also finds the rule that it names. */
	atomic_store_explicit(unwind_cache_slot(pc), (uint64_t)pc << 16 | rule,
			      memory_order_release);
}

/* Count a lookup. After enough lookups the module counts as unknown: the next walk through it
 * requests a refresh, which compiles its table. */
static uint16_t count_lookup(struct unwind_map_entry *entry)
{
	unsigned lookups = atomic_load_explicit(&entry->lookups, memory_order_relaxed);

	/* A lost count is harmless: the limit only bounds the cost. */
	if (lookups < UNWIND_LOOKUPS_MAX)
		atomic_store_explicit(&entry->lookups, lookups + 1, memory_order_relaxed);
	return lookups < UNWIND_LOOKUPS_MAX ? RULE_INDEX_PENDING : RULE_INDEX_UNKNOWN;
}

static uint16_t entry_rule(struct unwind_map_entry *entry, uintptr_t pc)
{
	if (entry->pending)
		return count_lookup(entry);
	return entry->table ? unwind_table_find(entry->table, pc - entry->start) : RULE_INDEX_NONE;
}

uint16_t unwind_map_search(uintptr_t pc)
{
	struct unwind_map_entry *entry;
	uint16_t rule = RULE_INDEX_UNKNOWN;

	atomic_fetch_add(&readers, 1);
	entry = find_entry(atomic_load(&current), pc);
	if (entry)
		rule = entry_rule(entry, pc);
	/* Written to the cache before the reader count drops, so that unwind_map_quiet() clears a
	 * stale entry. But each lookup must be counted. */
	if (rule != RULE_INDEX_PENDING)
		unwind_map_cache_rule(pc, rule);
	atomic_fetch_sub_explicit(&readers, 1, memory_order_release);
	return rule;
}

/* Also counted as a reader, so that an entry for an unmapped module is cleared. The table of rules
 * is large enough for any process of ordinary size. */
void unwind_map_cache_lookup(uintptr_t pc, const struct unwind_rule *rule)
{
	const struct unwind_map_entry *entry;
	uint16_t index = cfi_rule_intern(rule);

	if (index == RULE_INDEX_NONE)
		return;
	atomic_fetch_add(&readers, 1);
	entry = find_entry(atomic_load(&current), pc);
	if (entry && entry->pending)
		unwind_map_cache_rule(pc, index);
	atomic_fetch_sub_explicit(&readers, 1, memory_order_release);
}
