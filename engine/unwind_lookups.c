/* Rules that walks looked up: a table of slots that are each changed by one at a time. */
#include "engine/unwind_lookups.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define SLOT_BITS  9
#define RULE_WORDS (sizeof(struct unwind_rule) / sizeof(uint32_t))

/* Atomic one by one for the reader that comes by; VERSION is odd while somebody writes, and tells
 * the reader of a change in between. */
struct slot {
	_Atomic uintptr_t pc; /* 0: none */
	_Atomic uint32_t version;
	_Atomic uint32_t rule[RULE_WORDS];
};

_Static_assert(sizeof(struct unwind_rule) % sizeof(uint32_t) == 0, "a rule is whole words");

static struct slot slots[1 << SLOT_BITS];

static struct slot *slot_of(uintptr_t pc)
{
	return &slots[(pc * 0x9e3779b97f4a7c15u) >> (64 - SLOT_BITS)];
}

bool unwind_lookups_find(struct unwind_rule *rule, uintptr_t pc)
{
	struct slot *slot = slot_of(pc);
	uint32_t version = atomic_load_explicit(&slot->version, memory_order_acquire);
	uint32_t words[RULE_WORDS];

	if (version & 1 || atomic_load_explicit(&slot->pc, memory_order_acquire) != pc)
		return false;
	for (size_t i = 0; i < RULE_WORDS; i++)
		words[i] = atomic_load_explicit(&slot->rule[i], memory_order_acquire);
	memcpy(rule, words, sizeof(*rule));
	return atomic_load_explicit(&slot->version, memory_order_relaxed) == version;
}

/* The stores of the content may not be seen before that of the odd version: release, each. */
void unwind_lookups_keep(const struct unwind_rule *rule, uintptr_t pc)
{
	struct slot *slot = slot_of(pc);
	uint32_t version = atomic_load_explicit(&slot->version, memory_order_relaxed);
	uint32_t words[RULE_WORDS];

	if (version & 1 ||
	    !atomic_compare_exchange_strong_explicit(&slot->version, &version, version + 1,
						     memory_order_acquire, memory_order_relaxed))
		return;
	memcpy(words, rule, sizeof(*rule));
	atomic_store_explicit(&slot->pc, pc, memory_order_release);
	for (size_t i = 0; i < RULE_WORDS; i++)
		atomic_store_explicit(&slot->rule[i], words[i], memory_order_release);
	atomic_store_explicit(&slot->version, version + 2, memory_order_release);
}

void unwind_lookups_clear(void)
{
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		atomic_store_explicit(&slots[i].pc, 0, memory_order_relaxed);
}
