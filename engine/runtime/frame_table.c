/* The functions of the program's own language that were met on stacks, and the places in them.
 *
 * Two hash tables with open addressing and a pool of strings, all in one mapping that is as resident
 * as it is used. A slot is taken by writing its key with a compare-and-swap, after which it is never
 * another's; what else it has is filled in by who took it, and missing until then. Nothing is ever taken
 * out of such tables one by one: they are left for new ones, and emptied when nobody can be in them. */
#include "engine/runtime/frame_table.h"

#include <errno.h>
#include <stdatomic.h>

#include "core/system.h"

#define FUNCTIONS    32768u
#define PLACES       131072u
#define STRINGS      32768u
#define STRING_BYTES (4u << 20)

/* New tables are wanted when half of one of them is used: what is met until they come needs room as well. */
#define IS_MUCH(used, room) ((used) > (room) / 2)

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
	_Atomic uint32_t text_used, functions_used, places_used;
	char text[STRING_BYTES];
};

/* One is current, and the one before it may be in use still; the others are empty. They come round so that
 * a frame that somebody holds for all too long is of an empty one, and has no name, rather than another's. */
#define TURNS 8

/* A function's number has which tables it is in above its place there. */
#define GENERATION_SHIFT 28

static struct {
	struct tables *_Atomic turns[TURNS]; /* mapped when their turn comes first, for good */
	atomic_uint renewals;                /* which tells the current one's */
	unsigned before;                     /* TURNS: none is in use beside the current one */
} all = { .before = TURNS };

_Static_assert(FUNCTIONS <= 1u << GENERATION_SHIFT && TURNS <= 1u << (32 - GENERATION_SHIFT),
	       "a number has both");

static struct tables *tables_at(unsigned turn)
{
	return atomic_load_explicit(&all.turns[turn % TURNS], memory_order_acquire);
}

unsigned frame_table_renewals(void)
{
	return atomic_load(&all.renewals);
}

static unsigned generation_current(void)
{
	return frame_table_renewals() % TURNS;
}

static struct tables *tables_current(unsigned *turn)
{
	*turn = generation_current();
	return tables_at(*turn);
}

static struct tables *tables_of_function(uint32_t number)
{
	return tables_at(number >> GENERATION_SHIFT);
}

static int tables_map(unsigned turn)
{
	struct tables *t;

	if (tables_at(turn))
		return 0;
	t = system_map(sizeof(*t));
	if (!t)
		return -ENOMEM;
	atomic_store_explicit(&all.turns[turn], t, memory_order_release);
	return 0;
}

int frame_table_open(void)
{
	return tables_map(generation_current());
}

/* Stirs as splitmix64 does. */
static uint64_t hash_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* True when SLOT is KEY's, from now on or before; *FRESH tells which. */
static bool slot_claim(_Atomic uint64_t *slot, uint64_t key, bool *fresh)
{
	uint64_t there = atomic_load_explicit(slot, memory_order_acquire);

	*fresh = !there && atomic_compare_exchange_strong(slot, &there, key);
	return *fresh || there == key;
}

static void count_if_fresh(_Atomic uint32_t *used, bool fresh)
{
	if (fresh)
		atomic_fetch_add_explicit(used, 1, memory_order_relaxed);
}

static uint32_t function_claim(unsigned turn, uint64_t print, bool *fresh)
{
	struct tables *t = tables_at(turn);
	uint64_t at = hash_mix(print);

	*fresh = false;
	for (uint32_t i = 0; t && print && i < PROBES; i++, at++)
		/* Number 0 is no function. */
		if (at % FUNCTIONS &&
		    slot_claim(&t->functions[at % FUNCTIONS].print, print, fresh)) {
			count_if_fresh(&t->functions_used, *fresh);
			return turn << GENERATION_SHIFT | (uint32_t)(at % FUNCTIONS);
		}
	return 0;
}

uint32_t frame_table_function(uint64_t print, bool *fresh)
{
	return function_claim(generation_current(), print, fresh);
}

uintptr_t frame_table_place(uint32_t function, uint32_t offset, bool *fresh)
{
	uint64_t key = ((uint64_t)function << 32 | offset) + 1, at = hash_mix(key);
	unsigned turn;
	struct tables *t = function ? tables_of_function(function) : tables_current(&turn);

	*fresh = false;
	if (!t)
		return 0;
	for (uint32_t i = 0; function && i < PROBES; i++, at++)
		if (slot_claim(&t->places[at % PLACES].key, key, fresh)) {
			count_if_fresh(&t->places_used, *fresh);
			return (uintptr_t)&t->places[at % PLACES];
		}
	return (uintptr_t)&t->places[PLACES];
}

/* The entry of FRAME, and the tables *T that it is in; NULL: it is none. */
static struct place *place_at(struct tables **t, uintptr_t frame)
{
	uintptr_t offset;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		*t = tables_at(turn);
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

/* TEXT, kept once; "" when there is no room. */
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

/* ---- Reading ---- */

/* What the function of the place with KEY is, in FRAME. */
static void frame_set_function(struct tables *t, uint64_t key, struct script_frame *frame)
{
	const struct function *function = &t->functions[((key - 1) >> 32) % FUNCTIONS];
	const char *name = atomic_load_explicit(&function->name, memory_order_acquire);

	/* Without a name while a thread is about to write it, or when there was no room for it. */
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

/* ---- Turns ---- */

bool frame_table_renew(void)
{
	unsigned turn, next;
	struct tables *t = tables_current(&turn);

	if (!t || all.before != TURNS ||
	    !(IS_MUCH(atomic_load(&t->functions_used), FUNCTIONS) ||
	      IS_MUCH(atomic_load(&t->places_used), PLACES) ||
	      IS_MUCH(atomic_load(&t->text_used), STRING_BYTES)))
		return false;
	next = (turn + 1) % TURNS;
	if (tables_map(next))
		return false;
	all.before = turn;
	atomic_fetch_add(&all.renewals, 1);
	return true;
}

bool frame_table_is_renewed(void)
{
	return all.before != TURNS;
}

uintptr_t frame_table_keep(uintptr_t frame)
{
	struct script_frame told = { .file = "" };
	struct tables *t;
	struct place *place = place_at(&t, frame);
	uint64_t key;
	uint32_t function;
	bool fresh;

	if (!place || all.before == TURNS || t != tables_at(all.before) ||
	    place == &t->places[PLACES])
		return frame;
	key = atomic_load_explicit(&place->key, memory_order_acquire);
	if (!key)
		return frame;
	frame_set_function(t, key, &told);
	function = frame_table_function(
		atomic_load(&t->functions[((key - 1) >> 32) % FUNCTIONS].print), &fresh);
	if (fresh)
		frame_table_describe(function, told.type, told.name, told.file);
	frame = frame_table_place(function, (uint32_t)(key - 1), &fresh);
	if (fresh)
		frame_table_line(frame, atomic_load_explicit(&place->line, memory_order_relaxed));
	return frame;
}

void frame_table_drop(void)
{
	if (all.before == TURNS)
		return;
	system_empty(tables_at(all.before), sizeof(struct tables));
	all.before = TURNS;
}
