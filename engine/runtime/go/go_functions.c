/* Reader for the function table of Go programs. The layout is that of runtime.pcHeader,
 * runtime._func and runtime.moduledata in the source of Go. */
#include "engine/runtime/go/go_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

struct header {
	uint32_t magic;
	uint16_t pad;
	uint8_t instruction_bytes, pointer_bytes;
	uint64_t functions, files;
	uint64_t text; /* 0 since Go 1.26 */
	uint64_t names, units, file_names, tables, code;
};

/* The head of runtime._func; Go 1.18 has no line in it. */
struct entry {
	uint32_t start, name, arguments, deferred, stack, file, line, tables, unit, first_line;
	uint8_t id, flags, pad, data_count;
};

#define FLAGS_1_18 37

/* Offsets in runtime.moduledata: the code's address; that of the functions' data, since Go 1.20. */
#define MODULE_TEXT 176
#define MODULE_DATA 320

/* After an entry are the positions of its tables, and then those of its data (internal/abi/symtab.go). */
#define TABLE_INLINED 2
#define DATA_INLINED  3
#define NO_DATA       UINT32_MAX

/* runtime.inlinedCall, since Go 1.20. */
struct inlined_call {
	uint8_t id, pad[3];
	uint32_t name, parent, first_line;
};

/* Maximum depth of inlined functions; malformed data may be endless. */
#define INLINED_MAX 64

/* Adjacent data is read with one call. */
#define BLOCK_BYTES 4096
#define BLOCKS      16

struct go_functions {
	struct elf *file;
	const Elf64_Shdr *section;
	struct header header;
	uint64_t text, data; /* link addresses; data is 0 when it is not known */
	struct block {
		uint64_t offset; /* UINT64_MAX: none */
		size_t bytes;
		uint8_t data[BLOCK_BYTES];
	} blocks[BLOCKS];
};

static struct block *block_at(struct go_functions *f, uint64_t offset)
{
	struct block *block = &f->blocks[offset / BLOCK_BYTES % BLOCKS];
	uint64_t start = offset - offset % BLOCK_BYTES, left;
	int err;

	if (block->offset == start)
		return block;
	if (offset >= f->section->sh_size)
		return NULL;
	left = f->section->sh_size - start;
	block->offset = UINT64_MAX;
	block->bytes = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
	err = elf_read_section(f->file, f->section, start, block->data, block->bytes);
	if (err)
		return NULL;
	block->offset = start;
	return block;
}

/* Copy SIZE bytes from OFFSET in the section. */
static int read_bytes(struct go_functions *f, uint64_t offset, void *data, size_t size)
{
	uint8_t *to = data;

	while (size) {
		const struct block *block = block_at(f, offset);
		size_t in_block = offset % BLOCK_BYTES, n;

		if (!block || in_block >= block->bytes)
			return -ENODATA;
		n = block->bytes - in_block < size ? block->bytes - in_block : size;
		memcpy(to, block->data + in_block, n);
		to += n;
		offset += n;
		size -= n;
	}
	return 0;
}

/* ---- Opening ---- */

struct source {
	struct elf *file;
	go_memory *loaded;
	void *context;
	uint64_t bias;
};

static int read_loaded(const struct source *source, uint64_t address, void *data, size_t size)
{
	return source->loaded ? source->loaded(source->context, address, data, size)
			      : elf_read_address(source->file, address, data, size);
}

static int find_text(struct go_functions *f, const struct source *source)
{
	const Elf64_Shdr *module = elf_find_section(source->file, ".go.module");
	uint64_t text = 0;
	int err = read_loaded(source, f->section->sh_addr + offsetof(struct header, text), &text,
			      sizeof(text));

	if (!err && !text && module)
		err = read_loaded(source, module->sh_addr + MODULE_TEXT, &text, sizeof(text));
	f->text = text - source->bias;
	return err ? err : text ? 0 : -ENOENT;
}

static bool header_is_valid(const struct go_functions *f)
{
	const struct header *h = &f->header;
	uint64_t size = f->section->sh_size;

	return (h->magic == MAGIC_1_18 || h->magic == MAGIC_1_20) && h->pointer_bytes == 8 &&
	       h->instruction_bytes && h->names < size && h->tables < size && h->code < size &&
	       h->functions && h->functions < (size - h->code) / 8;
}

int go_functions_open(struct go_functions **out, struct elf *file, go_memory *loaded, void *context,
		      uint64_t bias)
{
	const struct source source = { file, loaded, context, bias };
	const Elf64_Shdr *section = elf_find_section(file, ".gopclntab");
	struct go_functions *f;
	int err;

	if (!section)
		section = elf_find_section(file, ".data.rel.ro.gopclntab");
	if (!section || section->sh_type == SHT_NOBITS)
		return -ENOENT;
	f = malloc(sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->file = file;
	f->section = section;
	f->data = 0;
	for (size_t i = 0; i < BLOCKS; i++)
		f->blocks[i].offset = UINT64_MAX;
	err = read_bytes(f, 0, &f->header, sizeof(f->header));
	if (!err && !header_is_valid(f))
		err = -ENOENT;
	if (!err)
		err = find_text(f, &source);
	if (err) {
		free(f);
		return err;
	}
	*out = f;
	return 0;
}

void go_functions_close(struct go_functions *functions)
{
	free(functions);
}

/* ---- Functions ---- */

size_t go_functions_count(const struct go_functions *f)
{
	return (size_t)f->header.functions;
}

/* The entry after the last function holds the end of the code. */
static int read_place(struct go_functions *f, size_t number, uint32_t out[2])
{
	return read_bytes(f, f->header.code + number * 8, out, 8);
}

int go_functions_get(struct go_functions *f, size_t number, struct go_function *out)
{
	struct entry entry = { 0 };
	uint32_t here[2], next[2];
	int err = number < f->header.functions ? read_place(f, number, here) : -ENOENT;

	if (!err)
		err = read_place(f, number + 1, next);
	if (!err)
		err = read_bytes(f, f->header.code + here[1], &entry,
				 offsetof(struct entry, flags) + 1);
	if (err)
		return err;
	if (next[0] < here[0])
		return -ENODATA;
	out->start = f->text + here[0];
	out->end = f->text + next[0];
	out->name = entry.name;
	out->stack = entry.stack;
	out->entry = here[1];
	out->flags = entry.flags;
	if (f->header.magic == MAGIC_1_18)
		out->flags = ((const uint8_t *)&entry)[FLAGS_1_18];
	return 0;
}

int go_functions_find(struct go_functions *f, uint64_t address, size_t *number)
{
	size_t begin = 0, end = (size_t)f->header.functions + 1, middle;
	uint32_t at[2];
	int err;

	while (begin < end) {
		middle = begin + (end - begin) / 2;
		err = read_place(f, middle, at);
		if (err)
			return err;
		if (f->text + at[0] <= address)
			begin = middle + 1;
		else
			end = middle;
	}
	if (!begin || begin > f->header.functions)
		return -ENOENT;
	*number = begin - 1;
	return 0;
}

int go_functions_name(struct go_functions *f, const struct go_function *function, char *text,
		      size_t size)
{
	size_t length = 0;
	int err = 0;

	while (length + 1 < size) {
		err = read_bytes(f, f->header.names + function->name + length, text + length, 1);
		if (err || !text[length])
			break;
		length++;
	}
	text[length] = '\0';
	return err ? err : (int)length;
}

static int number_at(struct go_functions *f, uint64_t *offset, uint32_t *value)
{
	unsigned shift = 0;
	uint8_t byte;
	int err;

	*value = 0;
	do {
		err = shift < 32 ? read_bytes(f, (*offset)++, &byte, 1) : -ENODATA;
		if (err)
			return err;
		*value |= (uint32_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return 0;
}

typedef void value_visitor(void *context, uint64_t start, uint64_t end, int64_t value);

/* Visit the values of FUNCTION's table at TABLE (0: there is none). It holds pairs: the change of the value, with the
 * sign in the lowest bit, and the number of instructions for which the new value holds. The change of the first pair
 * may be 0; any later 0 ends the table. */
static int visit_values(struct go_functions *f, const struct go_function *function, uint32_t table,
			value_visitor *visit, void *context)
{
	uint64_t offset = f->header.tables + table, at = function->start, end;
	uint32_t change, length;
	int64_t value = -1;
	int err = 0;

	if (!table)
		return -ENOENT;
	while (at < function->end) {
		err = number_at(f, &offset, &change);
		if (err || (!change && at != function->start))
			break;
		value += change & 1 ? -(int64_t)(change >> 1) - 1 : (int64_t)(change >> 1);
		err = number_at(f, &offset, &length);
		if (err || !length)
			break;
		end = at + (uint64_t)length * f->header.instruction_bytes;
		if (end > function->end)
			end = function->end;
		visit(context, at, end, value);
		at = end;
	}
	return err;
}

int go_functions_stack(struct go_functions *f, const struct go_function *function,
		       void (*visit)(void *context, uint64_t start, uint64_t end, int64_t grown),
		       void *context)
{
	return visit_values(f, function, function->stack, visit, context);
}

/* ---- Inlined functions ---- */

/* Find runtime.firstmoduledata, whose first words are the addresses of the table and of its names. Until Go 1.25 only a
 * symbol names it. Returns 0 if there is none. */
static uint64_t find_module(struct go_functions *f, const struct source *source)
{
	const Elf64_Shdr *module = elf_find_section(source->file, ".go.module"), *data;
	uint64_t table = source->bias + f->section->sh_addr, words[512];
	size_t size, overlap = sizeof(words[0]);

	if (module)
		return module->sh_addr;
	data = elf_find_section(source->file, ".noptrdata");
	for (uint64_t at = 0; data && data->sh_size - at > overlap; at += size - overlap) {
		size = data->sh_size - at < sizeof(words) ? data->sh_size - at : sizeof(words);
		if (read_loaded(source, data->sh_addr + at, words, size))
			break;
		for (size_t i = 0; i + 1 < size / sizeof(words[0]); i++)
			if (words[i] == table && words[i + 1] == table + f->header.names)
				return data->sh_addr + at + i * sizeof(words[0]);
		if (size < sizeof(words))
			break;
	}
	return 0;
}

int go_functions_find_inlined(struct go_functions *f, go_memory *loaded, void *context,
			      uint64_t bias)
{
	const struct source source = { f->file, loaded, context, bias };
	uint64_t module = f->header.magic == MAGIC_1_20 ? find_module(f, &source) : 0, data;
	int err =
		module ? read_loaded(&source, module + MODULE_DATA, &data, sizeof(data)) : -ENOENT;

	if (!err)
		f->data = data - bias;
	return err;
}

struct value_at {
	uint64_t address;
	int64_t value; /* -1: none */
};

static void value_at_address(void *context, uint64_t start, uint64_t end, int64_t value)
{
	struct value_at *wanted = context;

	if (wanted->address >= start && wanted->address < end)
		wanted->value = value;
}

/* Get the number of the innermost function that is inlined in FUNCTION at ADDRESS; -1: none. */
static int64_t inlined_number(struct go_functions *f, const struct go_function *function,
			      uint32_t table, uint64_t address)
{
	struct value_at wanted = { address, -1 };

	return visit_values(f, function, table, value_at_address, &wanted) ? -1 : wanted.value;
}

/* Get the position of FUNCTION's table of inlined functions, and the link address of its calls. Returns 0, -ENOENT if it
 * has none, or -errno. */
static int inlined_places(struct go_functions *f, const struct go_function *function,
			  uint32_t *table, uint64_t *calls)
{
	uint64_t head = f->header.code + function->entry;
	struct entry entry;
	uint32_t data;
	int err = f->data ? read_bytes(f, head, &entry, sizeof(entry)) : -ENOENT;

	if (!err && (entry.tables <= TABLE_INLINED || entry.data_count <= DATA_INLINED))
		err = -ENOENT;
	head += sizeof(entry);
	if (!err)
		err = read_bytes(f, head + 4 * TABLE_INLINED, table, sizeof(*table));
	if (!err)
		err = read_bytes(f, head + 4 * ((uint64_t)entry.tables + DATA_INLINED), &data,
				 sizeof(data));
	if (!err && data == NO_DATA)
		err = -ENOENT;
	if (!err)
		*calls = f->data + data;
	return err;
}

int go_functions_inlined(struct go_functions *f, const struct go_function *function,
			 uint64_t address, char *list, size_t size)
{
	struct go_function inlined = { 0 };
	struct inlined_call call;
	size_t used = 0;
	uint64_t calls;
	uint32_t table;
	int64_t number;
	int length, depth, err = inlined_places(f, function, &table, &calls);

	*list = '\0';
	if (err)
		return err == -ENOENT ? 0 : err;
	for (depth = 0; depth < INLINED_MAX; depth++) {
		number = inlined_number(f, function, table, address);
		if (number < 0)
			break;
		err = elf_read_address(f->file, calls + (uint64_t)number * sizeof(call), &call,
				       sizeof(call));
		if (err)
			return err;
		inlined.name = call.name;
		length = go_functions_name(f, &inlined, list + used, size - used - 1);
		if (length <= 0)
			return length ? length : -ENODATA;
		/* (A name that was cut fills it.) */
		if (used + (size_t)length + 2 >= size)
			break;
		used += (size_t)length + 1;
		list[used] = '\0';
		address = function->start + call.parent;
	}
	list[used] = '\0';
	return depth;
}
