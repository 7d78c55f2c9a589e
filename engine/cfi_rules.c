/* The rules of the process, each kept once. */
#include "engine/cfi.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct unwind_rule unwind_rules[RULES_MAX];

/* At run time, so that the file need not hold all the rows for these. */
void cfi_rules_init(void)
{
	if (unwind_rules[RULE_INDEX_UNKNOWN].kind)
		return; /* handlers may read them already */
	unwind_rules[RULE_INDEX_NONE].kind = RULE_NONE;
	unwind_rules[RULE_INDEX_UNKNOWN].kind = RULE_UNKNOWN;
	unwind_rules[RULE_INDEX_PENDING].kind = RULE_PENDING;
	unwind_rules[RULE_INDEX_KEPT].kind = RULE_KEPT;
	unwind_rules[RULE_INDEX_END].kind = RULE_END;
	unwind_rules[RULE_INDEX_SIGNAL].kind = RULE_SIGNAL;
	unwind_rules[RULE_INDEX_CHAIN].kind = RULE_CHAIN;
}

/* Indices into unwind_rules by hash of the rule; 0 is empty. */
static uint16_t *rule_slots;
static size_t rule_slot_count;
static size_t rule_count = RULE_INDEX_FIRST;

static size_t rule_hash(const struct unwind_rule *rule)
{
	uint64_t words[3] = { 0 }, hash;

	_Static_assert(sizeof(*rule) <= sizeof(words) && sizeof(*rule) == 20, "no padding");
	memcpy(words, rule, sizeof(*rule));
	hash = (words[0] * 0x9e3779b97f4a7c15u) ^ (words[1] * 0xc2b2ae3d27d4eb4fu) ^
	       (words[2] * 0x165667b19e3779f9u);
	return (size_t)(hash ^ hash >> 29);
}

static void rule_slot_put(size_t index)
{
	size_t slot = rule_hash(&unwind_rules[index]);

	while (rule_slots[slot &= rule_slot_count - 1])
		slot++;
	rule_slots[slot] = (uint16_t)index;
}

static bool rule_slots_grow(void)
{
	size_t count = rule_slot_count ? rule_slot_count * 2 : 2048;
	uint16_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	free(rule_slots);
	rule_slots = slots;
	rule_slot_count = count;
	for (size_t i = RULE_INDEX_FIRST; i < rule_count; i++)
		rule_slot_put(i);
	return true;
}

uint16_t cfi_rule_intern(const struct unwind_rule *rule)
{
	size_t slot;

	if (rule->kind == RULE_NONE)
		return RULE_INDEX_NONE;
	if (rule->kind == RULE_END)
		return RULE_INDEX_END;
	if (rule->kind == RULE_SIGNAL)
		return RULE_INDEX_SIGNAL;
	if (rule_count * 2 >= rule_slot_count && !rule_slots_grow() && !rule_slots)
		return RULE_INDEX_NONE;
	for (slot = rule_hash(rule);; slot++) {
		slot &= rule_slot_count - 1;
		if (!rule_slots[slot])
			break;
		if (!memcmp(&unwind_rules[rule_slots[slot]], rule, sizeof(*rule)))
			return rule_slots[slot];
	}
	if (rule_count == RULES_MAX || rule_count + 1 >= rule_slot_count)
		return RULE_INDEX_NONE;
	unwind_rules[rule_count] = *rule;
	rule_slots[slot] = (uint16_t)rule_count;
	return (uint16_t)rule_count++;
}

size_t cfi_rule_count(void)
{
	return rule_count;
}

size_t cfi_memory(void)
{
	return rule_count * sizeof(unwind_rules[0]) + rule_slot_count * sizeof(*rule_slots);
}
