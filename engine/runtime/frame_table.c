/* Table of script functions and of positions in them.
 *
 * It has two hash tables with open addressing and a pool of strings, all in one mapping; only the
 * used part is resident. A thread claims a slot by writing its key with a compare-and-swap, and the
 * slot keeps that key. The claiming thread then fills in the other fields; until then they are
 * empty. Slots are never removed singly: new tables replace the old ones, which are cleared when no
 * thread can use them. */
#include "engine/runtime/frame_table.h"

#include <errno.h>
#include <stdatomic.h>

#include "core/memory/account.h"
#include "core/system.h"

#define FUNCTIONS    32768u
#define PLACES       131072u
#define STRINGS      32768u
#define STRING_BYTES (4u << 20)

/* Renew the tables when one of them is half full; new entries need space until then. */
#define IS_MUCH(used, room) ((used) > (room) / 2)

/* Slots that are probed for one key; if all are taken, the table counts as full. */
#define PROBES 64

/* Memory that a new entry may use: its pages in three tables. */
#define SLOT_BYTES (3u * 4096)

struct function {
	_Atomic uint64_t fingerprint; /* 0: free */
	const char *_Atomic name;
	const char *_Atomic file;
	_Atomic uint8_t type;
};

struct place {
	_Atomic uint64_t key; /* function << 32 | offset, plus one; 0: free */
	_Atomic uint32_t line;
};

/* The last entries are not slots; they stand for functions and positions that did not fit. */
struct tables {
	struct function functions[FUNCTIONS];
	struct place places[PLACES + 1];
	const char *_Atomic strings[STRINGS];
	_Atomic uint32_t text_used, functions_used, places_used;
	char text[STRING_BYTES];
};

/* One generation is current, and the one before it may still be in use; the others are empty.
 * Generations are reused in a ring, so that a frame that is held for too long belongs to an empty
 * one. It then has no name, instead of the name of another frame. */
#define GENERATIONS 8

/* The bits of a function's number above its index are its generation. */
#define GENERATION_SHIFT 28

static struct {
	struct tables *_Atomic generations[GENERATIONS]; /* mapped at first use, never unmapped */
	atomic_uint renewals; /* its value modulo GENERATIONS is the current generation */
	unsigned before;      /* GENERATIONS: only the current one is in use */
} frame_tables = { .before = GENERATIONS };

_Static_assert(FUNCTIONS <= 1u << GENERATION_SHIFT && GENERATIONS <= 1u << (32 - GENERATION_SHIFT),
	       "a number holds generation and index");

static struct tables *tables_at(unsigned generation)
{
	return atomic_load_explicit(&frame_tables.generations[generation % GENERATIONS],
				    memory_order_acquire);
}

unsigned frame_table_renewals(void)
{
	return atomic_load(&frame_tables.renewals);
}

static unsigned generation_current(void)
{
	return frame_table_renewals() % GENERATIONS;
}

static struct tables *tables_current(unsigned *generation)
{
	*generation = generation_current();
	return tables_at(*generation);
}

static struct tables *tables_of_function(uint32_t number)
{
	return tables_at(number >> GENERATION_SHIFT);
}

static int tables_map(unsigned generation)
{
	struct tables *t;

	if (tables_at(generation))
		return 0;
	t = system_map(sizeof(*t));
	if (!t)
		return -ENOMEM;
	/* In a forked child, a function whose description another thread was writing would never get it. */
	system_empty_in_children(t, sizeof(*t));
	atomic_store_explicit(&frame_tables.generations[generation], t, memory_order_release);
	return 0;
}

int frame_table_open(void)
{
	return tables_map(generation_current());
}

/* Mix bits as splitmix64 does. */
static uint64_t hash_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Claim SLOT for KEY. Returns whether the slot has KEY; *FRESH is whether this call claimed it. */
static bool slot_claim(_Atomic uint64_t *slot, uint64_t key, bool *fresh)
{
	uint64_t there = atomic_load_explicit(slot, memory_order_acquire);

	*fresh = !there && memory_room(MEMORY_STACK) >= SLOT_BYTES &&
		 atomic_compare_exchange_strong(slot, &there, key);
	return *fresh || there == key;
}

static void count_if_fresh(_Atomic uint32_t *used, bool fresh)
{
	if (fresh)
		atomic_fetch_add_explicit(used, 1, memory_order_relaxed);
}

static uint32_t function_claim(unsigned generation, uint64_t fingerprint, bool *fresh)
{
	struct tables *t = tables_at(generation);
	uint64_t at = hash_mix(fingerprint);

	*fresh = false;
	for (uint32_t i = 0; t && fingerprint && i < PROBES; i++, at++)
		/* Number 0 is no function. */
		if (at % FUNCTIONS &&
		    slot_claim(&t->functions[at % FUNCTIONS].fingerprint, fingerprint, fresh)) {
			count_if_fresh(&t->functions_used, *fresh);
			return generation << GENERATION_SHIFT | (uint32_t)(at % FUNCTIONS);
		}
	memory_is_granted(MEMORY_STACK, SLOT_BYTES); /* counts a refusal */
	return 0;
}

uint32_t frame_table_function(uint64_t fingerprint, bool *fresh)
{
	return function_claim(generation_current(), fingerprint, fresh);
}

uintptr_t frame_table_place(uint32_t function, uint32_t offset, bool *fresh)
{
	uint64_t key = ((uint64_t)function << 32 | offset) + 1, at = hash_mix(key);
	unsigned generation;
	struct tables *t = function ? tables_of_function(function) : tables_current(&generation);

	*fresh = false;
	if (!t)
		return 0;
	for (uint32_t i = 0; function && i < PROBES; i++, at++)
		if (slot_claim(&t->places[at % PLACES].key, key, fresh)) {
			count_if_fresh(&t->places_used, *fresh);
			return (uintptr_t)&t->places[at % PLACES];
		}
	memory_is_granted(MEMORY_STACK, SLOT_BYTES);
	return (uintptr_t)&t->places[PLACES];
}

/* The entry of FRAME, and the tables *T that contain it; NULL if FRAME is not in a table. */
static struct place *place_at(struct tables **t, uintptr_t frame)
{
	uintptr_t offset;

	for (unsigned generation = 0; generation < GENERATIONS; generation++) {
		*t = tables_at(generation);
		offset = frame - (uintptr_t)(*t ? (*t)->places : NULL);
		if (*t && offset < sizeof((*t)->places) && offset % sizeof(struct place) == 0)
			return (struct place *)frame;
	}
	return NULL;
}

void frame_table_line(uintptr_t frame, uint32_t line)
{
	struct tables *t;
	struct place *place = place_at(&t, frame);

	if (place)
		atomic_store_explicit(&place->line, line, memory_order_relaxed);
}

bool frame_table_has_line(uintptr_t frame)
{
	struct tables *t;
	struct place *place = place_at(&t, frame);

	return !place || place == &t->places[PLACES] ||
	       atomic_load_explicit(&place->line, memory_order_relaxed);
}

/* ---- Strings ---- */

static bool string_equals(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static const char *string_copy(struct tables *t, const char *text, uint32_t bytes)
{
	uint32_t at = atomic_load_explicit(&t->text_used, memory_order_relaxed);

	do {
		if (bytes > STRING_BYTES - at)
			return NULL;
	} while (!atomic_compare_exchange_weak(&t->text_used, &at, at + bytes));
	for (uint32_t i = 0; i < bytes; i++)
		t->text[at + i] = text[i];
	return t->text + at;
}

/* Store TEXT once and return the copy; "" if there is no space. */
static const char *string_intern(struct tables *t, const char *text)
{
	uint64_t at = 0xcbf29ce484222325u;
	const char *mine = NULL, *there;
	uint32_t bytes = 1;

	for (const char *c = text; *c; c++, bytes++)
		at = (at ^ (uint8_t)*c) * 0x100000001b3u;
	at = hash_mix(at);
	for (uint32_t i = 0; i < PROBES; i++, at++) {
		there = atomic_load_explicit(&t->strings[at % STRINGS], memory_order_acquire);
		if (!there) {
			if (!mine)
				mine = string_copy(t, text, bytes);
			if (!mine)
				break;
			if (atomic_compare_exchange_strong(&t->strings[at % STRINGS], &there, mine))
				return mine;
		}
		if (string_equals(there, text))
			return there;
	}
	return mine ? mine : "";
}

void frame_table_describe(uint32_t number, enum jfr_frame_type type, const char *name,
			  const char *file)
{
	struct tables *t = tables_of_function(number);
	struct function *function;

	if (!t || !number)
		return;
	function = &t->functions[number % FUNCTIONS];
	atomic_store_explicit(&function->type, (uint8_t)type, memory_order_relaxed);
	atomic_store_explicit(&function->file, string_intern(t, file), memory_order_relaxed);
	atomic_store_explicit(&function->name, string_intern(t, name), memory_order_release);
}

/* ---- Lookup ---- */

/* Write the function of the position with KEY to FRAME. */
static void frame_set_function(struct tables *t, uint64_t key, struct script_frame *frame)
{
	const struct function *function = &t->functions[((key - 1) >> 32) % FUNCTIONS];
	const char *name = atomic_load_explicit(&function->name, memory_order_acquire);

	/* The name is missing until a thread has written it, or if it did not fit. */
	frame->name = name && *name ? name : "[unknown]";
	if (name) {
		frame->file = atomic_load_explicit(&function->file, memory_order_relaxed);
		frame->type = (enum jfr_frame_type)atomic_load_explicit(&function->type,
									memory_order_relaxed);
	}
}

bool frame_table_find(uintptr_t pc, struct script_frame *frame)
{
	struct tables *t;
	struct place *place = place_at(&t, pc);
	uint64_t key;

	if (!place)
		return false;
	*frame = (struct script_frame){ .name = "[frame table full]",
					.file = "",
					.type = JFR_FRAME_PYTHON };
	if (place == &t->places[PLACES])
		return true;
	key = atomic_load_explicit(&place->key, memory_order_acquire);
	frame->name = "[forgotten]";
	if (!key)
		return true;
	frame_set_function(t, key, frame);
	frame->line = atomic_load_explicit(&place->line, memory_order_relaxed);
	return true;
}

/* ---- Memory ---- */

static uint64_t tables_used_bytes(const struct tables *t)
{
	uint32_t functions = atomic_load(&t->functions_used);

	return memory_of_entries(functions, sizeof(t->functions)) +
	       memory_of_entries(atomic_load(&t->places_used), sizeof(t->places)) +
	       memory_of_entries(2 * (uint64_t)functions, sizeof(t->strings)) +
	       atomic_load(&t->text_used);
}

/* (The counters of dropped tables are 0.) */
uint64_t frame_table_unused_bytes(void)
{
	uint64_t unused = 0;

	for (unsigned generation = 0; generation < GENERATIONS; generation++) {
		const struct tables *t = tables_at(generation);

		unused += t ? sizeof(*t) - tables_used_bytes(t) : 0;
	}
	return unused;
}

/* ---- Renewal ---- */

bool frame_table_renew(void)
{
	unsigned generation, next;
	struct tables *t = tables_current(&generation);

	if (!t || frame_tables.before != GENERATIONS ||
	    !(IS_MUCH(atomic_load(&t->functions_used), FUNCTIONS) ||
	      IS_MUCH(atomic_load(&t->places_used), PLACES) ||
	      IS_MUCH(atomic_load(&t->text_used), STRING_BYTES)))
		return false;
	next = (generation + 1) % GENERATIONS;
	if (tables_map(next))
		return false;
	frame_tables.before = generation;
	atomic_fetch_add(&frame_tables.renewals, 1);
	return true;
}

bool frame_table_is_renewed(void)
{
	return frame_tables.before != GENERATIONS;
}

uintptr_t frame_table_keep(uintptr_t frame)
{
	struct script_frame script = { .file = "" };
	struct tables *t;
	struct place *place = place_at(&t, frame);
	uint64_t key;
	uint32_t function;
	bool fresh;

	if (!place || frame_tables.before == GENERATIONS || t != tables_at(frame_tables.before) ||
	    place == &t->places[PLACES])
		return frame;
	key = atomic_load_explicit(&place->key, memory_order_acquire);
	if (!key)
		return frame;
	frame_set_function(t, key, &script);
	function = frame_table_function(
		atomic_load(&t->functions[((key - 1) >> 32) % FUNCTIONS].fingerprint), &fresh);
	if (fresh)
		frame_table_describe(function, script.type, script.name, script.file);
	frame = frame_table_place(function, (uint32_t)(key - 1), &fresh);
	if (fresh)
		frame_table_line(frame, atomic_load_explicit(&place->line, memory_order_relaxed));
	return frame;
}

void frame_table_drop(void)
{
	if (frame_tables.before == GENERATIONS)
		return;
	system_empty(tables_at(frame_tables.before), sizeof(struct tables));
	frame_tables.before = GENERATIONS;
}
