/* engine/symbols/symbol_table: choice of the symbol for an address. */
#include "engine/symbols/symbol_table.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "test/fixtures/suite.h"

enum { TEXT = 1, DATA = 2 };

#define FUNC(binding)  ELF64_ST_INFO(binding, STT_FUNC)
#define IFUNC(binding) ELF64_ST_INFO(binding, STT_GNU_IFUNC)
#define LABEL(binding) ELF64_ST_INFO(binding, STT_NOTYPE)

static const struct row {
	const char *name;
	uint8_t info;
	uint16_t section;
	uint64_t start, size;
} rows[] = {
	/* Plain, followed by a gap. */
	{ "plain", FUNC(STB_GLOBAL), TEXT, 0x1000, 0x20 },
	/* Aliases. */
	{ "__read", FUNC(STB_GLOBAL), TEXT, 0x1100, 0x10 },
	{ "read", FUNC(STB_WEAK), TEXT, 0x1100, 0x10 },
	{ "__GI_read", FUNC(STB_LOCAL), TEXT, 0x1100, 0x10 },
	{ "a", FUNC(STB_LOCAL), TEXT, 0x1120, 0x10 },
	{ "__a_global", FUNC(STB_GLOBAL), TEXT, 0x1120, 0x10 },
	{ "long_name", FUNC(STB_GLOBAL), TEXT, 0x1140, 0x10 },
	{ "short", FUNC(STB_GLOBAL), TEXT, 0x1140, 0x10 },
	{ "_Z3foov", FUNC(STB_GLOBAL), TEXT, 0x1160, 0x10 },
	{ "_foo", FUNC(STB_GLOBAL), TEXT, 0x1160, 0x10 },
	{ "label", LABEL(STB_GLOBAL), TEXT, 0x1180, 0x10 },
	{ "_function", FUNC(STB_LOCAL), TEXT, 0x1180, 0x10 },
	{ "chosen", IFUNC(STB_GLOBAL), TEXT, 0x11a0, 0x10 },
	{ "weak", FUNC(STB_WEAK), TEXT, 0x11c0, 0x10 },
	{ "global", FUNC(STB_GLOBAL), TEXT, 0x11c0, 0x10 },
	/* Nested symbols, in either order. */
	{ "outer", FUNC(STB_GLOBAL), TEXT, 0x1200, 0x100 },
	{ "inner", FUNC(STB_LOCAL), TEXT, 0x1240, 0x10 },
	{ "unsized_inner", LABEL(STB_LOCAL), TEXT, 0x1280, 0 },
	/* Without sizes: up to the next symbol, and not beyond the section. */
	{ "unsized", LABEL(STB_LOCAL), TEXT, 0x1400, 0 },
	{ "sized_next", FUNC(STB_LOCAL), TEXT, 0x1440, 0x10 },
	{ "unsized_and_sized", FUNC(STB_LOCAL), TEXT, 0x1480, 0 },
	{ "same_but_sized", FUNC(STB_LOCAL), TEXT, 0x1480, 0x10 },
	{ "last_in_text", FUNC(STB_LOCAL), TEXT, 0x1f00, 0 },
	/* Not code. */
	{ "object", ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), TEXT, 0x1600, 0x100 },
	{ "data_label", LABEL(STB_GLOBAL), DATA, 0x1700, 0x100 },
	{ "undefined", FUNC(STB_GLOBAL), SHN_UNDEF, 0x1800, 0x100 },
	{ "", FUNC(STB_GLOBAL), TEXT, 0x1900, 0x100 },
	{ "bad_section", LABEL(STB_GLOBAL), 77, 0x1a00, 0x100 },
	/* With an endless size. */
	{ "endless", FUNC(STB_GLOBAL), TEXT, 0x5000, UINT64_MAX },
};
#define ROWS (sizeof(rows) / sizeof(*rows))

static const struct {
	uint64_t address;
	const char *name; /* NULL: none */
} cases[] = {
	{ 0xfff, NULL },
	{ 0x1000, "plain" },
	{ 0x101f, "plain" },
	{ 0x1020, NULL },
	{ 0x10ff, NULL },
	{ 0x1100, "read" },
	{ 0x1125, "__a_global" },
	{ 0x1140, "short" },
	{ 0x1160, "_Z3foov" },
	{ 0x1180, "_function" },
	{ 0x11a8, "chosen" },
	{ 0x11c0, "global" },
	{ 0x1200, "outer" },
	{ 0x123f, "outer" },
	{ 0x1240, "inner" },
	{ 0x124f, "inner" },
	{ 0x1250, "outer" },
	{ 0x1288, "outer" },
	{ 0x12ff, "outer" },
	{ 0x1300, NULL },
	{ 0x1400, "unsized" },
	{ 0x143f, "unsized" },
	{ 0x1444, "sized_next" },
	{ 0x1450, NULL },
	{ 0x1485, "same_but_sized" },
	{ 0x1490, NULL },
	{ 0x1610, NULL },
	{ 0x1710, NULL },
	{ 0x1810, NULL },
	{ 0x1910, NULL },
	{ 0x1a10, NULL },
	{ 0x1f00, "last_in_text" },
	{ 0x1fff, "last_in_text" },
	{ 0x2000, NULL },
	{ 0x4fff, NULL },
	{ 0x5000, "endless" },
	{ UINT64_MAX - 1, "endless" },
};
#define CASES (sizeof(cases) / sizeof(*cases))

/* A file with only these symbols. */
static struct {
	Elf64_Ehdr header;
	Elf64_Sym symbols[ROWS];
	char names[1024];
	Elf64_Shdr sections[5];
} image;

static void image_init(void)
{
	size_t at = 1;

	memset(&image, 0, sizeof(image));
	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] = ELFDATA2LSB;
	image.header.e_shoff = offsetof(__typeof__(image), sections);
	image.header.e_shentsize = sizeof(Elf64_Shdr);
	image.header.e_shnum = 5;
	image.sections[TEXT] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
					     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					     .sh_addr = 0x1000,
					     .sh_size = 0x1000 };
	image.sections[DATA] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC };
	image.sections[3] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
					  .sh_entsize = sizeof(Elf64_Sym),
					  .sh_link = 4,
					  .sh_offset = offsetof(__typeof__(image), symbols),
					  .sh_size = sizeof(image.symbols) };
	image.sections[4] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					  .sh_offset = offsetof(__typeof__(image), names),
					  .sh_size = sizeof(image.names) };
	for (size_t i = 0; i < ROWS; i++) {
		image.symbols[i] = (Elf64_Sym){ .st_info = rows[i].info,
						.st_shndx = rows[i].section,
						.st_value = rows[i].start,
						.st_size = rows[i].size };
		if (*rows[i].name) {
			image.symbols[i].st_name = (uint32_t)at;
			strcpy(image.names + at, rows[i].name);
			at += strlen(rows[i].name) + 1;
		}
	}
}

static void reverse_symbols(void)
{
	for (size_t i = 0; i < ROWS / 2; i++) {
		Elf64_Sym symbol = image.symbols[i];

		image.symbols[i] = image.symbols[ROWS - 1 - i];
		image.symbols[ROWS - 1 - i] = symbol;
	}
}

static void check_all(struct elf *elf)
{
	struct symbol_match matches[CASES] = { 0 };
	const Elf64_Shdr *strings = elf_section(elf, 4);
	char name[64];

	for (size_t i = 0; i < CASES; i++)
		matches[i].address = cases[i].address;
	ck_assert_int_eq(symbol_table_match(elf, elf_section(elf, 3), strings, matches, CASES), 0);
	for (size_t i = 0; i < CASES; i++) {
		ck_assert_msg(matches[i].found == (cases[i].name != NULL), "%#llx",
			      (unsigned long long)cases[i].address);
		if (!matches[i].found)
			continue;
		ck_assert_int_gt(elf_string(elf, strings, matches[i].name, name, sizeof(name)), 0);
		ck_assert_str_eq(name, cases[i].name);
		ck_assert_uint_le(matches[i].start, matches[i].address);
	}
}

START_TEST(names_in_either_order)
{
	struct elf *elf;

	image_init();
	if (_i)
		reverse_symbols();
	ck_assert_int_eq(elf_open_buffer(&elf, &image, sizeof(image)), 0);
	check_all(elf);
	elf_close(elf);
}
END_TEST

/* Functions, labels and addresses outside are no variables. */
START_TEST(variables)
{
	static const struct {
		uint64_t address;
		bool found;
	} addresses[] = {
		{ 0x15ff, false },
		{ 0x1600, true },
		{ 0x16ff, true },
		{ 0x1700, false },
	};
	struct elf *elf;

	image_init();
	ck_assert_int_eq(elf_open_buffer(&elf, &image, sizeof(image)), 0);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		struct symbol_match match = { .address = addresses[i].address, .is_data = true };

		symbol_table_match(elf, elf_section(elf, 3), elf_section(elf, 4), &match, 1);
		ck_assert_int_eq(match.found, addresses[i].found);
		if (match.found)
			ck_assert_uint_eq(match.start, 0x1600);
	}
	elf_close(elf);
}
END_TEST

/* A single address has the same name as in a batch. */
START_TEST(each_by_itself)
{
	const Elf64_Shdr *strings;
	struct symbol_match match;
	struct elf *elf;
	char name[64];

	image_init();
	ck_assert_int_eq(elf_open_buffer(&elf, &image, sizeof(image)), 0);
	strings = elf_section(elf, 4);
	for (size_t i = 0; i < CASES; i++) {
		memset(&match, 0, sizeof(match));
		match.address = cases[i].address;
		symbol_table_match(elf, elf_section(elf, 3), strings, &match, 1);
		ck_assert_int_eq(match.found, cases[i].name != NULL);
		if (match.found) {
			elf_string(elf, strings, match.name, name, sizeof(name));
			ck_assert_str_eq(name, cases[i].name);
		}
	}
	elf_close(elf);
}
END_TEST

/* A symbol without a size ends at a known function start; a symbol with a size does not. */
START_TEST(ends_where_a_function_begins)
{
	static const struct {
		uint64_t address, begin;
		const char *name;
	} known[] = {
		{ 0x1420, 0x1400, "unsized" },    { 0x1420, 0x13f0, "unsized" },
		{ 0x1420, 0x1401, NULL },         { 0x1420, 0x1420, NULL },
		{ 0x1448, 0x1448, "sized_next" },
	};
	struct elf *elf;
	char name[64];

	image_init();
	ck_assert_int_eq(elf_open_buffer(&elf, &image, sizeof(image)), 0);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct symbol_match match = { .address = known[i].address,
					      .begin = known[i].begin };

		symbol_table_match(elf, elf_section(elf, 3), elf_section(elf, 4), &match, 1);
		ck_assert_int_eq(match.found, known[i].name != NULL);
		if (match.found) {
			elf_string(elf, elf_section(elf, 4), match.name, name, sizeof(name));
			ck_assert_str_eq(name, known[i].name);
		}
	}
	elf_close(elf);
}
END_TEST

START_TEST(what_is_found_stays)
{
	struct symbol_match match = { .address = 0x1000, .found = true, .name = 42, .start = 1 };
	struct elf *elf;

	image_init();
	ck_assert_int_eq(elf_open_buffer(&elf, &image, sizeof(image)), 0);
	symbol_table_match(elf, elf_section(elf, 3), elf_section(elf, 4), &match, 1);
	ck_assert_uint_eq(match.name, 42);
	ck_assert_uint_eq(match.start, 1);
	elf_close(elf);
}
END_TEST

START_TEST(wrong_tables_answer_nothing)
{
	struct symbol_match match = { .address = 0x1000 };
	struct elf *elf;

	image_init();
	image.sections[3].sh_size = sizeof(image) * 2;
	ck_assert_int_eq(elf_open_buffer(&elf, &image, sizeof(image)), 0);
	ck_assert_int_lt(
		symbol_table_match(elf, elf_section(elf, 3), elf_section(elf, 4), &match, 1), 0);
	ck_assert(!match.found);
	elf_close(elf);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_loop_test(tcase, names_in_either_order, 0, 2);
	tcase_add_test(tcase, variables);
	tcase_add_test(tcase, each_by_itself);
	tcase_add_test(tcase, ends_where_a_function_begins);
	tcase_add_test(tcase, what_is_found_stays);
	tcase_add_test(tcase, wrong_tables_answer_nothing);
	return suite_run(tcase);
}
