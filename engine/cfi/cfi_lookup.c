/* Lookup of an unwind rule in a module without a compiled table. */
#include "engine/cfi/cfi_lookup.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "core/loaded_symbol.h"
#include "engine/cfi/cfi_entry.h"
#include "engine/cfi/cfi_header.h"
#include "engine/cfi/context_start.h"
#include "engine/reading/memory_reader.h"

/* struct dl_find_object as glibc documents it, with room for later members. */
struct found_object {
	unsigned long long flags;
	const uint8_t *start, *end;
	void *link_map;
	const uint8_t *header;
	unsigned long long reserved[8];
};

/* Lock-free and async-signal-safe according to its manual: it is made for unwinders. */
typedef int find_object(void *pc, struct found_object *result);

static find_object *_Atomic loader_find;
static _Atomic uintptr_t outermost;

void cfi_lookup_init(void)
{
	static bool is_done;
	find_object *find;

	if (is_done)
		return;
	is_done = true;
	/* By name, because an older glibc would not load this library with a reference. */
	*(void **)&find = loaded_symbol_first("_dl_find_object").address;
	atomic_store(&loader_find, find);
	atomic_store(&outermost, context_start());
}

static bool lookup_find_module(struct found_object *object, uintptr_t pc)
{
	find_object *find = atomic_load_explicit(&loader_find, memory_order_relaxed);

	*object = (struct found_object){ 0 };
	/* (The loader handles concurrent changes of its own memory.) */
	return find && !find((void *)pc, object);
}

uintptr_t cfi_lookup_outermost(void)
{
	return atomic_load_explicit(&outermost, memory_order_relaxed);
}

const uint8_t *cfi_lookup_header(uintptr_t pc)
{
	struct found_object object;

	return lookup_find_module(&object, pc) ? object.header : NULL;
}

/* ---- Sections that stay mapped ---- */

#define LASTING_MAX 64

/* Read-only segments of modules that are never unloaded, with the header in each. */
static struct lasting {
	const uint8_t *header;
	uintptr_t low, high;
} lasting[LASTING_MAX];
static atomic_size_t lasting_count;

static const struct lasting *find_lasting(const uint8_t *header)
{
	size_t count = atomic_load_explicit(&lasting_count, memory_order_acquire);

	for (size_t i = 0; i < count; i++)
		if (lasting[i].header == header)
			return &lasting[i];
	return NULL;
}

void cfi_lookup_lasting(const uint8_t *header, uintptr_t low, uintptr_t high)
{
	size_t count = atomic_load(&lasting_count);

	if (count == LASTING_MAX || find_lasting(header))
		return;
	lasting[count] = (struct lasting){ header, low, high };
	atomic_store_explicit(&lasting_count, count + 1, memory_order_release);
}

void cfi_lookup_in_place(uintptr_t pc)
{
	const uint8_t *header = cfi_lookup_header(pc);
	struct loaded_module segment = loaded_read_only_segment(header);

	if (header && segment.high)
		cfi_lookup_lasting(header, segment.low, segment.high);
}

/* ---- Lookups ---- */

/* The entry for a pc, at the start of its instructions. */
struct lookup {
	struct cfi_source source;
	struct memory_reader reader;
	struct cie cie;
	struct run run;
	struct place place;
	uint64_t next; /* start of the next entry's code */
};

/* Maximum range of the offsets in a header. */
#define HEADER_REACH ((uintptr_t)1 << 31)

/* The sizes of the sections are unknown, so the source covers all that the header can reach. A
 * program's segments may have gaps, and then the loader knows only the code's segment. */
static bool lookup_find_source(struct lookup *lookup, uintptr_t pc, struct memory_block *block)
{
	const uint8_t *header = cfi_lookup_header(pc);
	const struct lasting *known = find_lasting(header);
	uintptr_t address = (uintptr_t)header, low;

	if (!header)
		return false;
	low = address > HEADER_REACH ? address - HEADER_REACH : MEMORY_PAGE;
	lookup->reader = (struct memory_reader){ .low = known ? known->low : 0,
						 .high = known ? known->high : 0,
						 .block = block };
	lookup->source = (struct cfi_source){
		.hdr = header,
		.hdr_size = HEADER_REACH,
		.hdr_address = address,
		.frame = (const uint8_t *)low,
		.frame_size = address + HEADER_REACH - low,
		.frame_address = low,
		.outermost = cfi_lookup_outermost(),
		.reader = &lookup->reader,
	};
	return true;
}

/* Find the entry for PC, as an offset in SOURCE's frame, and the start of the next entry's code. */
static bool lookup_find_entry(uint64_t *offset, uint64_t *next, const struct cfi_source *source,
			      uintptr_t pc)
{
	struct cfi_header header;
	uint64_t begin = 0, end, middle, start;
	struct cursor row;

	if (!cfi_header_read(&header, source))
		return false;
	*next = UINT64_MAX;
	end = header.count;
	while (begin < end) {
		middle = begin + (end - begin) / 2;
		row = header.table;
		cursor_skip(&row, middle * CFI_HEADER_ROW);
		start = cursor_pointer(&row, header.encoding, source);
		if (start <= pc) {
			*offset = cursor_pointer(&row, header.encoding, source) -
				  source->frame_address;
			begin = middle + 1;
		} else {
			*next = start;
			end = middle;
		}
		if (row.bad)
			return false;
	}
	return begin;
}

static bool lookup_begin(struct lookup *lookup, uintptr_t pc, struct memory_block *block)
{
	struct cfi_source *source = &lookup->source;
	uint64_t offset;
	struct fde fde;

	if (!lookup_find_source(lookup, pc, block) ||
	    !lookup_find_entry(&offset, &lookup->next, source, pc) ||
	    !fde_read(&fde, source, offset))
		return false;
	cie_read(&lookup->cie, source, fde.cie_offset, &lookup->run);
	return lookup->cie.valid &&
	       fde_begin(&fde, &lookup->cie, source, &lookup->run, &lookup->place) &&
	       pc >= lookup->place.start && lookup->place.size;
}

uintptr_t cfi_lookup_function(uintptr_t pc, struct memory_block *block)
{
	struct lookup lookup;

	return lookup_begin(&lookup, pc, block) && pc - lookup.place.start < lookup.place.size
		       ? lookup.place.start
		       : 0;
}

bool cfi_lookup(struct unwind_rule *rule, uintptr_t pc, struct memory_block *block)
{
	uint64_t place, end, advance;
	struct lookup lookup;

	if (!lookup_begin(&lookup, pc, block))
		return false;
	place = lookup.place.start;
	end = place + lookup.place.size;
	if (pc >= end) {
		if (lookup.next - end > CFI_PADDING_MAX)
			return false;
		if (pc + 1 == lookup.source.outermost) {
			*rule = (struct unwind_rule){ .kind = RULE_END };
			return true;
		}
		pc = end - 1;
	}
	while (run_to_next_location(&lookup.run, place, &advance) && pc - place >= advance)
		place += advance;
	*rule = run_rule(&lookup.run);
	return rule->kind != RULE_NONE;
}
