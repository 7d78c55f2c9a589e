/* The functions of the program's own language that were met on stacks, and the places in them.
 *
 * Two hash tables with open addressing and a pool of strings, all in one mapping that is as resident
 * as it is used. A slot is taken by writing its key with a compare-and-swap, after which it is never
 * another's; what else it has is filled in by who took it, and missing until then. */
#include "engine/runtime/frame_table.h"

#include <errno.h>
#include <stdatomic.h>

#include "core/system.h"

#define FUNCTIONS    32768u
#define PLACES       131072u
#define STRINGS      32768u
#define STRING_BYTES (4u << 20)

/* Slots looked at for one key: beyond, the table counts as full. */
#define PROBES 64

struct function {
	_Atomic uint64_t print; /* 0: free */
	const char *_Atomic name;
	const char *_Atomic file;
	_Atomic uint8_t type;
};

struct place {
	_Atomic uint64_t key; /* function << 32 | offset, plus one; 0: free */
	_Atomic uint32_t line;
};

/* The last places are no slots: those that stand for what there is no room for. */
struct tables {
	struct function functions[FUNCTIONS];
	struct place places[PLACES + 1];
	const char *_Atomic strings[STRINGS];
	_Atomic uint32_t text_used;
	char text[STRING_BYTES];
};

static struct tables *_Atomic tables;

static struct tables *get(void)
{
	return atomic_load_explicit(&tables, memory_order_acquire);
}

int frame_table_open(void)
{
	struct tables *t;

	if (get())
		return 0;
	t = system_map(sizeof(*t));
	if (!t)
		return -ENOMEM;
	atomic_store_explicit(&tables, t, memory_order_release);
	return 0;
}

/* Stirs as splitmix64 does. */
static uint64_t stir(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* True when SLOT is KEY's, from now on or before; *FRESH tells which. */
static bool claim(_Atomic uint64_t *slot, uint64_t key, bool *fresh)
{
	uint64_t there = atomic_load_explicit(slot, memory_order_acquire);

	*fresh = !there && atomic_compare_exchange_strong(slot, &there, key);
	return *fresh || there == key;
}

uint32_t frame_table_function(uint64_t print, bool *fresh)
{
	struct tables *t = get();
	uint64_t at = stir(print);

	*fresh = false;
	for (uint32_t i = 0; t && print && i < PROBES; i++, at++)
		/* Number 0 is no function. */
		if (at % FUNCTIONS && claim(&t->functions[at % FUNCTIONS].print, print, fresh))
			return at % FUNCTIONS;
	return 0;
}

uintptr_t frame_table_place(uint32_t function, uint32_t offset, bool *fresh)
{
	struct tables *t = get();
	uint64_t key = ((uint64_t)function << 32 | offset) + 1, at = stir(key);

	*fresh = false;
	if (!t)
		return 0;
	for (uint32_t i = 0; function && i < PROBES; i++, at++)
		if (claim(&t->places[at % PLACES].key, key, fresh))
			return (uintptr_t)&t->places[at % PLACES];
	return (uintptr_t)&t->places[PLACES];
}

static struct place *place_at(struct tables *t, uintptr_t frame)
{
	uintptr_t offset = frame - (uintptr_t)t->places;

	return t && offset < sizeof(t->places) && offset % sizeof(struct place) == 0
		       ? (struct place *)frame
		       : NULL;
}

void frame_table_line(uintptr_t frame, uint32_t line)
{
	struct place *place = place_at(get(), frame);

	if (place)
		atomic_store_explicit(&place->line, line, memory_order_relaxed);
}

bool frame_table_has_line(uintptr_t frame)
{
	struct tables *t = get();
	struct place *place = place_at(t, frame);

	return !place || place == &t->places[PLACES] ||
	       atomic_load_explicit(&place->line, memory_order_relaxed);
}

/* ---- Strings ---- */

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static const char *copy(struct tables *t, const char *text, uint32_t bytes)
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

/* TEXT, kept once; "" when there is no room. */
static const char *keep(struct tables *t, const char *text)
{
	uint64_t at = 0xcbf29ce484222325u;
	const char *mine = NULL, *there;
	uint32_t bytes = 1;

	for (const char *c = text; *c; c++, bytes++)
		at = (at ^ (uint8_t)*c) * 0x100000001b3u;
	at = stir(at);
	for (uint32_t i = 0; i < PROBES; i++, at++) {
		there = atomic_load_explicit(&t->strings[at % STRINGS], memory_order_acquire);
		if (!there) {
			if (!mine)
				mine = copy(t, text, bytes);
			if (!mine)
				break;
			if (atomic_compare_exchange_strong(&t->strings[at % STRINGS], &there, mine))
				return mine;
		}
		if (same(there, text))
			return there;
	}
	return mine ? mine : "";
}

void frame_table_describe(uint32_t function, enum jfr_frame_type type, const char *name,
			  const char *file)
{
	struct tables *t = get();

	if (!t || !function || function >= FUNCTIONS)
		return;
	atomic_store_explicit(&t->functions[function].type, (uint8_t)type, memory_order_relaxed);
	atomic_store_explicit(&t->functions[function].file, keep(t, file), memory_order_relaxed);
	atomic_store_explicit(&t->functions[function].name, keep(t, name), memory_order_release);
}

/* ---- Reading ---- */

bool frame_table_find(uintptr_t pc, struct script_frame *frame)
{
	struct tables *t = get();
	struct place *place = place_at(t, pc);
	const struct function *function;
	const char *name;

	if (!place)
		return false;
	*frame = (struct script_frame){ .name = "[frame table full]",
					.file = "",
					.type = JFR_FRAME_PYTHON };
	if (place == &t->places[PLACES])
		return true;
	function = &t->functions[((atomic_load(&place->key) - 1) >> 32) % FUNCTIONS];
	name = atomic_load_explicit(&function->name, memory_order_acquire);
	/* Without a name while a thread is about to write it, or when there was no room for it. */
	frame->name = name && *name ? name : "[unknown]";
	if (name) {
		frame->file = atomic_load_explicit(&function->file, memory_order_relaxed);
		frame->type = (enum jfr_frame_type)atomic_load_explicit(&function->type,
									memory_order_relaxed);
	}
	frame->line = atomic_load_explicit(&place->line, memory_order_relaxed);
	return true;
}
