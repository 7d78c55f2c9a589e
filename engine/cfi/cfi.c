/* Compiler of .eh_frame into row tables. */
#include "engine/cfi/cfi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/cfi/cfi_entry.h"
#include "engine/cfi/cfi_header.h"

/* ---- Rows ---- */

struct builder {
	const struct cfi_source *source;
	uint16_t *low, *rule; /* [capacity]; only the used part is resident */
	uint32_t *first;
	size_t rows, capacity;
	uint32_t regions, filled; /* first[] is final below FILLED */
	uint64_t last;            /* offset of the newest row */
	uint64_t covered;         /* end of the newest entry's code */
	struct unwind_rule last_rule;
	uint16_t last_index;
};

static uint16_t builder_intern(struct builder *b, const struct unwind_rule *rule)
{
	if (memcmp(rule, &b->last_rule, sizeof(*rule))) {
		b->last_rule = *rule;
		b->last_index = cfi_rule_intern(rule);
	}
	return b->last_index;
}

static void builder_row(struct builder *b, uint64_t offset, uint16_t rule)
{
	if (b->rows && b->last == offset) {
		b->rule[b->rows - 1] = rule;
		return;
	}
	if (b->rows ? b->rule[b->rows - 1] == rule : rule == RULE_INDEX_NONE)
		return;
	if (b->rows == b->capacity || (b->rows && offset < b->last))
		return;
	while (b->filled <= offset >> 16)
		b->first[b->filled++] = (uint32_t)b->rows;
	b->low[b->rows] = (uint16_t)offset;
	b->rule[b->rows++] = rule;
	b->last = offset;
}

/* ---- Entries ---- */

#define CIES 16

struct compiler {
	struct builder builder;
	struct cie cies[CIES]; /* recently used ones: all entries of an object share one or two */
	size_t next_cie;
	struct run run;
};

static const struct cie *compiler_get_cie(struct compiler *compiler, uint64_t offset)
{
	struct cie *cie;

	for (size_t i = 0; i < CIES; i++) {
		cie = &compiler->cies[i];
		if (cie->code_align && cie->offset == offset)
			return cie->valid ? cie : NULL;
	}
	cie = &compiler->cies[compiler->next_cie++ % CIES];
	cie_read(cie, compiler->builder.source, offset, &compiler->run);
	return cie->valid ? cie : NULL;
}

/* Read the head of the entry at OFFSET. Leaves RUN at its instructions. */
static bool compiler_begin_entry(struct compiler *compiler, uint64_t offset, struct place *place)
{
	const struct cfi_source *source = compiler->builder.source;
	const struct cie *cie;
	struct fde fde;

	if (!fde_read(&fde, source, offset))
		return false;
	cie = compiler_get_cie(compiler, fde.cie_offset);
	return cie && fde_begin(&fde, cie, source, &compiler->run, place);
}

static void compile_fde(struct compiler *compiler, uint64_t offset)
{
	struct builder *b = &compiler->builder;
	struct run *run = &compiler->run;
	struct unwind_rule rule;
	struct place place;
	uint64_t at, end, advance;
	bool more;

	if (!compiler_begin_entry(compiler, offset, &place) ||
	    place.start < b->source->text_start || place.start >= b->source->text_end ||
	    !place.size || place.size > b->source->text_end - place.start)
		return;
	at = place.start - b->source->text_start;
	end = at + place.size;
	if (b->rows && at < b->covered)
		return; /* entries do not overlap in a valid file */
	if (b->rows && at - b->covered > CFI_PADDING_MAX)
		builder_row(b, b->covered, RULE_INDEX_NONE);
	/* Its callees return to its first instruction. A return address is looked up minus 1, which
	 * is in the padding before the function. */
	if (run->outermost && at && at > b->covered)
		builder_row(b, at - 1, RULE_INDEX_END);
	do {
		more = run_to_next_location(run, at + b->source->text_start, &advance);
		rule = run_rule(run);
		builder_row(b, at, builder_intern(b, &rule));
		at += advance;
	} while (more && advance < end - (at - advance));
	b->covered = end;
}

/* ---- The order of entries ---- */

struct entry {
	uint32_t start;  /* start of the code, relative to text_start */
	uint32_t offset; /* within .eh_frame */
};

struct entries {
	struct entry *list; /* mapped, CAPACITY long */
	size_t count, capacity;
};

static void *map_alloc(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void map_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

static void entries_add(struct entries *entries, uint64_t start, uint64_t offset)
{
	if (entries->count < entries->capacity && start <= UINT32_MAX && offset <= UINT32_MAX)
		entries->list[entries->count++] =
			(struct entry){ (uint32_t)start, (uint32_t)offset };
}

static int entries_alloc(struct entries *entries, size_t capacity)
{
	entries->capacity = capacity;
	entries->list = map_alloc(capacity * sizeof(*entries->list));
	return entries->list ? 0 : -ENOMEM;
}

static int entries_from_table(struct entries *entries, struct cfi_header *header,
			      const struct cfi_source *source)
{
	uint64_t start, address;
	int err = entries_alloc(entries, header->count);

	for (uint64_t i = 0; !err && i < header->count; i++) {
		start = cursor_pointer(&header->table, header->encoding, source);
		address = cursor_pointer(&header->table, header->encoding, source);
		entries_add(entries, start - source->text_start, address - source->frame_address);
	}
	return err;
}

/* Walk the section, for a file without a search table. */
static int entries_from_frame(struct entries *entries, struct compiler *compiler)
{
	const struct cfi_source *source = compiler->builder.source;
	uint64_t offset = 0, id, id_offset;
	struct place place;
	struct cursor c;
	int err = entries_alloc(entries, source->frame_size / 12 + 1);

	while (!err && entry_begin(source, offset, &c, &id, &id_offset)) {
		if (id && compiler_begin_entry(compiler, offset, &place))
			entries_add(entries, place.start - source->text_start, offset);
		offset = (uint64_t)(c.end - source->frame);
	}
	return err;
}

static int entry_compare(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static void entries_sort(struct entries *entries)
{
	for (size_t i = 1; i < entries->count; i++)
		if (entries->list[i - 1].start > entries->list[i].start) {
			qsort(entries->list, entries->count, sizeof(*entries->list), entry_compare);
			return;
		}
}

/* ---- The table ---- */

static int builder_finish(struct builder *b, struct unwind_table **out)
{
	size_t head = sizeof(struct unwind_table) + (b->regions + 1) * sizeof(b->first[0]);
	size_t bytes;
	struct unwind_table *table;
	uint16_t *low;

	/* No rule applies after the last entry; this also bounds every lookup. */
	builder_row(b, b->covered, RULE_INDEX_NONE);
	while (b->filled <= b->regions)
		b->first[b->filled++] = (uint32_t)b->rows;
	if (!b->rows)
		return -ENOENT;
	bytes = head + b->rows * 2 * sizeof(uint16_t);
	table = malloc(bytes);
	if (!table)
		return -ENOMEM;
	low = (uint16_t *)((char *)table + head);
	memcpy(low, b->low, b->rows * sizeof(*low));
	memcpy(low + b->rows, b->rule, b->rows * sizeof(*low));
	memcpy(table->first, b->first, (b->regions + 1) * sizeof(b->first[0]));
	table->starts = false;
	table->begin = NULL;
	table->bytes = bytes;
	table->regions = b->regions;
	table->rows = (uint32_t)b->rows;
	table->low = low;
	table->rule = low + b->rows;
	*out = table;
	return 0;
}

static int builder_alloc(struct builder *b, const struct cfi_source *source)
{
	b->source = source;
	b->regions = (uint32_t)((source->text_end - source->text_start) >> 16) + 1;
	/* Each row needs an instruction, and an entry has one more row at its start and its end. */
	b->capacity = source->frame_size + 2;
	b->low = map_alloc(b->capacity * sizeof(*b->low));
	b->rule = map_alloc(b->capacity * sizeof(*b->rule));
	b->first = map_alloc((b->regions + 2) * sizeof(*b->first));
	return b->low && b->rule && b->first ? 0 : -ENOMEM;
}

static void builder_free(struct builder *b)
{
	map_free(b->low, b->capacity * sizeof(*b->low));
	map_free(b->rule, b->capacity * sizeof(*b->rule));
	map_free(b->first, (b->regions + 2) * sizeof(*b->first));
}

int cfi_compile(struct unwind_table **out, const struct cfi_source *source)
{
	struct entries entries = { 0 };
	struct compiler *compiler;
	struct cfi_header header;
	int err;

	if (source->text_end <= source->text_start || !source->frame_size)
		return -ENOENT;
	if (source->text_end - source->text_start >= UINT32_MAX || source->frame_size >= UINT32_MAX)
		return -EFBIG;
	compiler = calloc(1, sizeof(*compiler));
	if (!compiler)
		return -ENOMEM;
	err = builder_alloc(&compiler->builder, source);
	if (err)
		goto out;
	if (cfi_header_read(&header, source) && header.count)
		err = entries_from_table(&entries, &header, source);
	else
		err = entries_from_frame(&entries, compiler);
	if (err)
		goto out;
	entries_sort(&entries);
	for (size_t i = 0; i < entries.count; i++)
		compile_fde(compiler, entries.list[i].offset);
	err = builder_finish(&compiler->builder, out);
out:
	map_free(entries.list, entries.capacity * sizeof(*entries.list));
	builder_free(&compiler->builder);
	free(compiler);
	return err;
}
