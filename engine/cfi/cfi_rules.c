/* Table of unwind rules: rows in hash chains, to which new rows are only prepended. Rows and chains
 * are large. In a forked child both are empty, so that fork need not copy their pages; the child
 * fills its own. */
#include "engine/cfi/cfi_rules.h"

#include <stdatomic.h>
#include <string.h>

#include "core/system.h"

_Alignas(ARCH_PAGE_MAX) struct unwind_rule unwind_rules[RULES_MAX];

#define CHAINS 8192

/* Rows of one chain that a lookup compares. A longer chain is damaged: a program's memory test, which
 * writes to all pages, may have made a cycle of it. */
#define CHAIN_MAX 256

static struct {
	_Alignas(ARCH_PAGE_MAX) _Atomic uint16_t chains[CHAINS]; /* the newest row; 0: none */
	uint16_t next[RULES_MAX];
	atomic_size_t taken; /* rows after the predefined ones */
} rule_index;

_Static_assert(sizeof(unwind_rules) % ARCH_PAGE_MAX == 0, "nothing else is emptied with it");
_Static_assert(UINT16_MAX < RULES_MAX, "no row is outside, even in a damaged chain");

/* Set at run time, so that the file need not contain the rows. */
void cfi_rules_init(void)
{
	if (unwind_rules[RULE_INDEX_UNKNOWN].kind)
		return; /* handlers may already read them */
	system_empty_in_children(unwind_rules, sizeof(unwind_rules));
	system_empty_in_children(&rule_index, sizeof(rule_index));
	unwind_rules[RULE_INDEX_NONE].kind = RULE_NONE;
	unwind_rules[RULE_INDEX_UNKNOWN].kind = RULE_UNKNOWN;
	unwind_rules[RULE_INDEX_PENDING].kind = RULE_PENDING;
	unwind_rules[RULE_INDEX_END].kind = RULE_END;
	unwind_rules[RULE_INDEX_SIGNAL].kind = RULE_SIGNAL;
	unwind_rules[RULE_INDEX_CHAIN].kind = RULE_CHAIN;
}

static _Atomic uint16_t *chain_of(const struct unwind_rule *rule)
{
	uint64_t words[3] = { 0 }, hash;

	_Static_assert(sizeof(*rule) <= sizeof(words) && sizeof(*rule) == 20, "no padding");
	memcpy(words, rule, sizeof(*rule));
	hash = (words[0] * 0x9e3779b97f4a7c15u) ^ (words[1] * 0xc2b2ae3d27d4eb4fu) ^
	       (words[2] * 0x165667b19e3779f9u);
	return &rule_index.chains[(hash ^ hash >> 29) % CHAINS];
}

static uint16_t row_acquire(void)
{
	size_t taken = atomic_load_explicit(&rule_index.taken, memory_order_relaxed);

	while (taken < RULES_MAX - RULE_INDEX_FIRST)
		if (atomic_compare_exchange_weak(&rule_index.taken, &taken, taken + 1))
			return (uint16_t)(RULE_INDEX_FIRST + taken);
	return 0;
}

static uint16_t chain_find(const _Atomic uint16_t *chain, const struct unwind_rule *rule)
{
	uint16_t row = atomic_load_explicit(chain, memory_order_acquire);

	for (int i = 0; row && i < CHAIN_MAX; i++, row = rule_index.next[row])
		if (!memcmp(&unwind_rules[row], rule, sizeof(*rule)))
			return row;
	return 0;
}

/* Two concurrent calls may add the same rule, which is harmless. */
static uint16_t chain_add(_Atomic uint16_t *chain, const struct unwind_rule *rule)
{
	uint16_t row = row_acquire(), newest = atomic_load_explicit(chain, memory_order_relaxed);

	if (!row)
		return RULE_INDEX_NONE;
	unwind_rules[row] = *rule;
	do
		rule_index.next[row] = newest;
	while (!atomic_compare_exchange_weak_explicit(chain, &newest, row, memory_order_acq_rel,
						      memory_order_relaxed));
	return row;
}

uint16_t cfi_rule_intern(const struct unwind_rule *rule)
{
	_Atomic uint16_t *chain;
	uint16_t row;

	if (rule->kind == RULE_NONE)
		return RULE_INDEX_NONE;
	if (rule->kind == RULE_END)
		return RULE_INDEX_END;
	if (rule->kind == RULE_SIGNAL)
		return RULE_INDEX_SIGNAL;
	chain = chain_of(rule);
	row = chain_find(chain, rule);
	return row ? row : chain_add(chain, rule);
}

size_t cfi_rule_count(void)
{
	return RULE_INDEX_FIRST + atomic_load(&rule_index.taken);
}

size_t cfi_memory(void)
{
	return cfi_rule_count() * (sizeof(unwind_rules[0]) + sizeof(rule_index.next[0])) +
	       sizeof(rule_index.chains);
}
