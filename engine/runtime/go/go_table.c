/* Compiler from Go's function table to unwind rules.
 *
 * Go's table has the stack growth at each instruction, so the return address is found without a
 * frame pointer. A function that switches stacks, between a goroutine's and the thread's, is not
 * described. There, the frame pointer is used, which Go's compiler maintains for this purpose. */
#include "engine/runtime/go/go_table.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/runtime/go/go_functions.h"
#include "engine/reading/process_memory.h"

/* The note in which Go's linker stores its own build-id (cmd/link, elfgobuildid). */
#define GO_NOTE      "Go"
#define GO_NOTE_TYPE 4

#define PUSH_RBP 0x55

struct rows {
	struct row {
		uint32_t offset;
		uint16_t rule;
	} * list;
	size_t count, room;
	bool is_out_of_memory; /* memory was exhausted */
};

struct compiler {
	const struct image *image;
	struct go_functions *functions;
	uint64_t text; /* link address of the module's code */
	struct rows rows;

	/* The current function. */
	struct go_function function;
	bool keeps_fp;  /* saves the frame pointer at the top of its frame */
	bool has_frame; /* has a frame */
	bool is_signal_return;
};

static bool note_is_in(const char *notes, size_t size)
{
	Elf64_Nhdr note;

	for (size_t at = 0; at < size && size - at >= sizeof(note) + sizeof(GO_NOTE);
	     at += sizeof(note) + (((size_t)note.n_namesz + 3) & ~(size_t)3) +
		   (((size_t)note.n_descsz + 3) & ~(size_t)3)) {
		memcpy(&note, notes + at, sizeof(note));
		if (note.n_type == GO_NOTE_TYPE && !strcmp(notes + at + sizeof(note), GO_NOTE))
			return true;
	}
	return false;
}

bool go_note_is_in(uintptr_t bias, const Elf64_Phdr *phdr)
{
	char notes[1024];
	size_t size = phdr->p_memsz < sizeof(notes) ? phdr->p_memsz : sizeof(notes);

	return phdr->p_type == PT_NOTE && !process_memory_read(bias + phdr->p_vaddr, notes, size) &&
	       note_is_in(notes, size);
}

bool go_table_is_for(const struct image *image)
{
	for (size_t i = 0; i < image->phdr_count; i++)
		if (go_note_is_in(image->bias, &image->phdrs[i]))
			return true;
	return false;
}

/* ---- Rows ---- */

static void rows_add(struct rows *rows, uint64_t offset, uint16_t rule)
{
	struct row *list;

	if (rows->count && rows->list[rows->count - 1].offset == offset) {
		rows->list[rows->count - 1].rule = rule;
		return;
	}
	if (rows->count && (rows->list[rows->count - 1].rule == rule ||
			    rows->list[rows->count - 1].offset > offset))
		return;
	if (rows->count == rows->room) {
		rows->room = rows->room ? 2 * rows->room : 4096;
		list = reallocarray(rows->list, rows->room, sizeof(*list));
		if (!list) {
			rows->is_out_of_memory = true;
			rows->room = rows->count;
			return;
		}
		rows->list = list;
	}
	rows->list[rows->count++] = (struct row){ (uint32_t)offset, rule };
}

/* Add the rows of REST for the offsets [FROM, TO). */
static void rows_add_rest(struct rows *rows, const struct unwind_table *rest, uint64_t from,
			  uint64_t to)
{
	uint64_t offset;

	if (from >= to)
		return;
	rows_add(rows, from, rest ? unwind_table_find(rest, from) : RULE_INDEX_NONE);
	for (uint32_t region = 0; rest && region < rest->regions; region++)
		for (uint32_t i = rest->first[region]; i < rest->first[region + 1]; i++) {
			offset = (uint64_t)region << 16 | rest->low[i];
			if (offset > from && offset < to)
				rows_add(rows, offset, rest->rule[i]);
		}
}

static struct unwind_table *rows_make_table(const struct rows *rows, uint64_t bytes)
{
	uint32_t regions = (uint32_t)(bytes >> 16) + 1, region = 0;
	size_t head = sizeof(struct unwind_table) + (regions + 1) * sizeof(uint32_t);
	size_t size = head + rows->count * 2 * sizeof(uint16_t);
	struct unwind_table *table = rows->is_out_of_memory || !rows->count ? NULL : malloc(size);
	uint16_t *low, *rule;

	if (!table)
		return NULL;
	low = (uint16_t *)((char *)table + head);
	rule = low + rows->count;
	for (size_t i = 0; i < rows->count; i++) {
		while (region <= rows->list[i].offset >> 16)
			table->first[region++] = (uint32_t)i;
		low[i] = (uint16_t)rows->list[i].offset;
		rule[i] = rows->list[i].rule;
	}
	while (region <= regions)
		table->first[region++] = (uint32_t)rows->count;
	table->starts = false;
	table->begin = NULL;
	table->bytes = size;
	table->regions = regions;
	table->rows = (uint32_t)rows->count;
	table->low = low;
	table->rule = rule;
	return table;
}

/* ---- Functions ---- */

static bool returns_from_signal(const char *name)
{
	return !strncmp(name, "runtime.sigreturn", strlen("runtime.sigreturn"));
}

/* "mov %rbp, OFFSET(%rsp)" in either encoding. */
static bool stores_fp(const uint8_t *code, int64_t offset)
{
	int32_t wide;

	memcpy(&wide, code + 4, sizeof(wide));
	return code[0] == 0x48 && code[1] == 0x89 && code[3] == 0x24 &&
	       (code[2] == 0x6c ? (int8_t)code[4] == offset : code[2] == 0xac && wide == offset);
}

/* Detect whether the frame pointer is saved at the top of the frame: pushed first, or stored after
 * the stack was extended. For assembler functions without a frame from Go, this is unknown. */
static void compiler_detect_save(void *context, uint64_t start, uint64_t end, int64_t grown)
{
	struct compiler *c = context;
	uint8_t code[9];

	(void)end;
	c->has_frame |= grown > 0;
	if (grown > 0 && start > c->function.start &&
	    !image_read(c->image, start - 1, code, sizeof(code)))
		c->keeps_fp |=
			(grown == 8 && code[0] == PUSH_RBP) || stores_fp(code + 1, grown - 8);
}

static void compiler_add_range(void *context, uint64_t start, uint64_t end, int64_t grown)
{
	struct compiler *c = context;
	struct unwind_rule rule = { .kind = RULE_SP, .ra_words = -1 };
	uint16_t index;

	(void)end;
	if (grown < 0 || grown > INT32_MAX - 8)
		return;
	rule.offset = (int32_t)grown + 8;
	if (grown && c->keeps_fp) {
		rule.fp_save = SAVE_CFA;
		rule.fp_words = -2;
	}
	/* Before it has a frame, and after its frame is removed, it is on its caller's stack. */
	if (c->function.flags & GO_SETS_STACK && (grown || !c->has_frame))
		rule = (struct unwind_rule){ .kind = RULE_SWITCH };
	index = c->is_signal_return                ? RULE_INDEX_SIGNAL
		: c->function.flags & GO_OUTERMOST ? RULE_INDEX_END
						   : cfi_rule_intern(&rule);
	rows_add(&c->rows, start - c->text, index);
}

static void compile_function(struct compiler *c)
{
	char name[64];

	c->is_signal_return =
		go_functions_name(c->functions, &c->function, name, sizeof(name)) > 0 &&
		returns_from_signal(name);
	c->keeps_fp = !(c->function.flags & GO_IS_ASSEMBLER);
	c->has_frame = false;
	if (c->function.flags & (GO_IS_ASSEMBLER | GO_SETS_STACK))
		go_functions_stack(c->functions, &c->function, compiler_detect_save, c);
	/* A handler returns to the first instruction of this function, and lookups subtract one
	 * from a return address. */
	if (c->is_signal_return && c->function.start > c->text)
		rows_add(&c->rows, c->function.start - c->text - 1, RULE_INDEX_SIGNAL);
	if (go_functions_stack(c->functions, &c->function, compiler_add_range, c))
		rows_add(&c->rows, c->function.start - c->text, RULE_INDEX_NONE);
}

static void compiler_run(struct compiler *c, const struct unwind_table *rest, uint64_t bytes)
{
	size_t count = go_functions_count(c->functions);
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++) {
		if (go_functions_get(c->functions, i, &c->function) ||
		    c->function.start < c->text || c->function.end - c->text > bytes)
			continue;
		if (!end)
			rows_add_rest(&c->rows, rest, 0, c->function.start - c->text);
		compile_function(c);
		end = c->function.end - c->text;
	}
	if (end)
		rows_add_rest(&c->rows, rest, end, bytes);
}

static int read_loaded(void *context, uint64_t address, void *data, size_t size)
{
	const struct image *image = context;

	return process_memory_read(image->bias + address, data, size);
}

struct unwind_table *go_table_compile(const struct image *image, uintptr_t start, uintptr_t end,
				      const struct unwind_table *rest)
{
	struct compiler c = { .image = image, .text = start - image->bias };
	struct unwind_table *table = NULL;
	struct elf *elf;

	/* (On other processors the return address is at the other end of the frame.) */
	if (ARCH_RA != 16 || end - start > UINT32_MAX || image_elf(image, &elf))
		return NULL;
	if (!go_functions_open(&c.functions, elf, read_loaded, (void *)image, image->bias)) {
		compiler_run(&c, rest, end - start);
		table = rows_make_table(&c.rows, end - start);
		go_functions_close(c.functions);
		free(c.rows.list);
	}
	elf_close(elf);
	return table;
}
