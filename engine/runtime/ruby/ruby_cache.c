/* Cache of functions by their code, from one walk to the next.
 *
 * To identify code, a walk reads the object and the objects that it refers to: one page each. But Ruby
 * reuses the memory of an object only after the collector has marked without it and then sweeps. So
 * an entry from the mark phase is valid during that phase; the collector may free an object that
 * was just on a stack. An entry from the sweep phase, or from the idle time after it, is valid
 * until the next count of a collection. Each of the two is a period with a number. A period also
 * ends when the frame table is renewed. */
#include <errno.h>
#include <stdatomic.h>

#include "core/system.h"
#include "engine/runtime/ruby/ruby.h"
#include "engine/runtime/script_text.h"

#define ENTRIES 4096
#define LOOKS   4

struct entry {
	_Atomic uint64_t turn; /* odd during a write */
	_Atomic uint64_t period;
	_Atomic uintptr_t code, method, start;
	_Atomic uint64_t function; /* number and size */
};

static struct entry *_Atomic entries;

int ruby_open(void)
{
	struct entry *made = atomic_load(&entries);

	if (made)
		return 0;
	made = system_map(ENTRIES * sizeof(*made));
	if (!made)
		return -ENOMEM;
	/* Its functions are in the frame table, which is empty there too. */
	system_empty_in_children(made, ENTRIES * sizeof(*made));
	atomic_store_explicit(&entries, made, memory_order_release);
	return 0;
}

static struct entry *entry_at(uintptr_t code, uintptr_t method, unsigned look)
{
	struct entry *all = atomic_load_explicit(&entries, memory_order_acquire);
	uint64_t hash = script_text_mix(script_text_mix(1, code), method) >> 20;

	return all ? &all[(hash + look) % ENTRIES] : NULL;
}

static uint64_t load_word(_Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static uintptr_t load_address(_Atomic uintptr_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

bool ruby_cache_find(uint64_t period, uintptr_t code, uintptr_t method,
		     struct ruby_function *function)
{
	for (unsigned look = 0; look < LOOKS; look++) {
		struct entry *entry = entry_at(code, method, look);
		uint64_t turn, rest;
		bool same;

		if (!entry)
			return false;
		turn = atomic_load_explicit(&entry->turn, memory_order_acquire);
		same = load_word(&entry->period) == period && load_address(&entry->code) == code &&
		       load_address(&entry->method) == method;
		rest = load_word(&entry->function);
		function->start = load_address(&entry->start);
		atomic_thread_fence(memory_order_acquire);
		if (same && turn % 2 == 0 && load_word(&entry->turn) == turn) {
			function->number = (uint32_t)(rest >> 32);
			function->size = (uint32_t)rest;
			return true;
		}
	}
	return false;
}

/* An entry of an earlier period, or else the last one that was checked. */
static struct entry *entry_to_replace(uint64_t period, uintptr_t code, uintptr_t method)
{
	struct entry *entry = NULL;

	for (unsigned look = 0; look < LOOKS; look++) {
		entry = entry_at(code, method, look);
		if (!entry || load_word(&entry->period) != period)
			break;
	}
	return entry;
}

void ruby_cache_store(uint64_t period, uintptr_t code, uintptr_t method,
		      const struct ruby_function *function)
{
	struct entry *entry = entry_to_replace(period, code, method);
	uint64_t turn = entry ? load_word(&entry->turn) : 1;

	/* Another thread, or the code that a handler interrupted, is writing it. */
	if (turn % 2 || !atomic_compare_exchange_strong(&entry->turn, &turn, turn + 1))
		return;
	atomic_store(&entry->period, period);
	atomic_store(&entry->code, code);
	atomic_store(&entry->method, method);
	atomic_store(&entry->start, function->start);
	atomic_store(&entry->function, (uint64_t)function->number << 32 | function->size);
	atomic_store_explicit(&entry->turn, turn + 2, memory_order_release);
}
