/* engine/runtime/go/go_functions.c: Go's function table, in the forms of two versions, and malformed. */
#include "engine/runtime/go/go_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/fixtures/suite.h"

#define TEXT 0x401000u
#define BASE 0x500000u

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

/* Two functions: at 0 "main.leaf", of 32 bytes; at 32 "runtime.switches", of 64. In the first 8 bytes of the first,
 * "main.inner" is inlined in "main.middle", which is inlined in the first 16. */
struct table {
	uint32_t magic;
	uint16_t pad;
	uint8_t instruction_bytes, pointer_bytes;
	uint64_t functions, files, text, names, units, file_names, tables, code;
	char text_of_names[64];
	uint8_t stacks[32];
	struct {
		uint32_t places[5];
		uint32_t unused;
		uint8_t entry[2][80];
	} functab;
};

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	char names[32];
	struct table table;
	uint8_t module[328];
	struct {
		uint32_t id, name, parent, first_line;
	} calls[2];
	Elf64_Shdr sections[4];
};

#define NAMES "\0.names\0.gopclntab\0.go.module"

static void put_entry(struct table *t, int n, uint32_t start, uint32_t name, uint32_t stack,
		      uint8_t flags)
{
	uint8_t *e = t->functab.entry[n];

	memcpy(e, &start, 4);
	memcpy(e + 4, &name, 4);
	memcpy(e + 16, &stack, 4);
	e[t->magic == MAGIC_1_18 ? 37 : 41] = flags;
}

static void table_init(struct table *t, uint32_t magic)
{
	/* Grows by 8 after 4 bytes, by 40 more after 8 more, and shrinks to 8 and to 0 at the end;
	 * then a table that starts at 0 and stays there. */
	static const uint8_t stacks[] = { 0, 2, 4, 16, 8, 80, 16, 79, 2, 15, 2, 0, 2, 64, 0,
					  /* At 15: 1, 0, none. */
					  4, 8, 1, 8, 1, 16, 0 };
	static const uint32_t inlined[] = { 0, 0, 15, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0 };

	memset(t, 0, sizeof(*t));
	t->magic = magic;
	t->instruction_bytes = 1;
	t->pointer_bytes = 8;
	t->functions = 2;
	t->text = TEXT;
	t->names = offsetof(struct table, text_of_names);
	t->tables = offsetof(struct table, stacks);
	t->code = offsetof(struct table, functab);
	memcpy(t->text_of_names, "main.leaf\0runtime.switches\0main.inner\0main.middle", 50);
	memcpy(t->stacks, stacks, sizeof(stacks));
	t->functab.places[1] = offsetof(struct table, functab.entry[0]) - (uint32_t)t->code;
	t->functab.places[2] = 32;
	t->functab.places[3] = offsetof(struct table, functab.entry[1]) - (uint32_t)t->code;
	t->functab.places[4] = 96;
	put_entry(t, 0, 0, 0, 1, 0);
	if (magic == MAGIC_1_20) {
		t->functab.entry[0][28] = 3;
		t->functab.entry[0][43] = 4;
		memcpy(t->functab.entry[0] + 44, inlined, sizeof(inlined));
	}
	put_entry(t, 1, 32, 10, 12, GO_SETS_STACK);
}

static void image_init(struct image *image, uint32_t magic)
{
	memset(image, 0, sizeof(*image));
	memcpy(image->header.e_ident, ELFMAG, SELFMAG);
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->header.e_phoff = offsetof(struct image, segment);
	image->header.e_phentsize = sizeof(Elf64_Phdr);
	image->header.e_phnum = 1;
	image->header.e_shoff = offsetof(struct image, sections);
	image->header.e_shentsize = sizeof(Elf64_Shdr);
	image->header.e_shnum = 4;
	image->header.e_shstrndx = 1;
	image->segment = (Elf64_Phdr){ .p_type = PT_LOAD,
				       .p_vaddr = BASE,
				       .p_filesz = sizeof(*image),
				       .p_memsz = sizeof(*image) };
	memcpy(image->names, NAMES, sizeof(NAMES));
	image->sections[1] = (Elf64_Shdr){ .sh_name = 1,
					   .sh_type = SHT_STRTAB,
					   .sh_offset = offsetof(struct image, names),
					   .sh_size = sizeof(image->names) };
	image->sections[2] = (Elf64_Shdr){ .sh_name = 8,
					   .sh_type = SHT_PROGBITS,
					   .sh_addr = BASE + offsetof(struct image, table),
					   .sh_offset = offsetof(struct image, table),
					   .sh_size = sizeof(image->table) };
	image->sections[3] = (Elf64_Shdr){ .sh_name = 19,
					   .sh_type = SHT_PROGBITS,
					   .sh_addr = BASE + offsetof(struct image, module),
					   .sh_offset = offsetof(struct image, module),
					   .sh_size = sizeof(image->module) };
	table_init(&image->table, magic);
	image->calls[0].name = 38;
	image->calls[0].parent = 20;
	image->calls[1].name = 27;
	image->calls[1].parent = 10;
}

static struct go_functions *open_image(struct elf **elf, const struct image *image)
{
	struct go_functions *functions;

	ck_assert_int_eq(elf_open_buffer(elf, image, sizeof(*image)), 0);
	ck_assert_int_eq(go_functions_open(&functions, *elf, NULL, NULL, 0), 0);
	return functions;
}

struct stretches {
	size_t count;
	struct {
		uint64_t start, end;
		int64_t grown;
	} list[8];
};

static void note(void *context, uint64_t start, uint64_t end, int64_t grown)
{
	struct stretches *s = context;

	if (s->count < 8) {
		s->list[s->count].start = start;
		s->list[s->count].end = end;
		s->list[s->count].grown = grown;
	}
	s->count++;
}

static const uint32_t magics[] = { MAGIC_1_18, MAGIC_1_20 };

START_TEST(as_written)
{
	struct stretches stretches = { 0 };
	struct go_function function;
	struct image *image = malloc(sizeof(*image));
	struct go_functions *f;
	struct elf *elf;
	char name[32], brief[5];
	size_t n;

	image_init(image, magics[_i]);
	f = open_image(&elf, image);
	ck_assert_uint_eq(go_functions_count(f), 2);
	ck_assert_int_eq(go_functions_find(f, TEXT - 1, &n), -ENOENT);
	ck_assert_int_eq(go_functions_find(f, TEXT + 96, &n), -ENOENT);
	ck_assert_int_eq(go_functions_find(f, TEXT + 31, &n), 0);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(go_functions_get(f, n, &function), 0);
	ck_assert_uint_eq(function.start, TEXT);
	ck_assert_uint_eq(function.end, TEXT + 32);
	ck_assert_uint_eq(function.flags, 0);
	ck_assert_int_eq(go_functions_name(f, &function, name, sizeof(name)), 9);
	ck_assert_str_eq(name, "main.leaf");
	ck_assert_int_eq(go_functions_name(f, &function, brief, sizeof(brief)), 4);
	ck_assert_str_eq(brief, "main");
	ck_assert_int_eq(go_functions_stack(f, &function, note, &stretches), 0);
	ck_assert_uint_eq(stretches.count, 5);
	ck_assert_uint_eq(stretches.list[0].start, TEXT);
	ck_assert_int_eq(stretches.list[0].grown, 0);
	ck_assert_uint_eq(stretches.list[1].start, TEXT + 4);
	ck_assert_int_eq(stretches.list[1].grown, 8);
	ck_assert_uint_eq(stretches.list[2].start, TEXT + 12);
	ck_assert_int_eq(stretches.list[2].grown, 48);
	ck_assert_int_eq(stretches.list[3].grown, 8);
	ck_assert_int_eq(stretches.list[4].grown, 0);
	ck_assert_uint_eq(stretches.list[4].end, TEXT + 32);

	ck_assert_int_eq(go_functions_find(f, TEXT + 32, &n), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(go_functions_get(f, n, &function), 0);
	ck_assert_uint_eq(function.flags, GO_SETS_STACK);
	ck_assert_int_eq(go_functions_name(f, &function, name, sizeof(name)), 16);
	ck_assert_str_eq(name, "runtime.switches");
	ck_assert_int_eq(go_functions_get(f, 2, &function), -ENOENT);
	go_functions_close(f);
	elf_close(elf);
	free(image);
}
END_TEST

/* Since Go 1.26 another section has the address of the code. */
START_TEST(text_of_the_module)
{
	struct image *image = malloc(sizeof(*image));
	const uint64_t text = TEXT;
	struct go_functions *f;
	struct elf *elf;
	size_t n;

	image_init(image, MAGIC_1_20);
	image->table.text = 0;
	ck_assert_int_eq(elf_open_buffer(&elf, image, sizeof(*image)), 0);
	ck_assert_int_eq(go_functions_open(&f, elf, NULL, NULL, 0), -ENOENT);
	memcpy(image->module + 176, &text, sizeof(text));
	ck_assert_int_eq(go_functions_open(&f, elf, NULL, NULL, 0), 0);
	ck_assert_int_eq(go_functions_find(f, TEXT + 33, &n), 0);
	ck_assert_uint_eq(n, 1);
	go_functions_close(f);
	elf_close(elf);
	free(image);
}
END_TEST

/* Write the inlined functions of the first function to LIST, each with a space after it. */
static int inlined_at(struct go_functions *f, uint64_t address, char *list, size_t size)
{
	struct go_function function;
	int count;

	ck_assert_int_eq(go_functions_get(f, 0, &function), 0);
	memset(list, 'x', size);
	count = go_functions_inlined(f, &function, address, list, size);
	for (size_t i = 0; list[i]; list[i++] = ' ')
		i += strlen(list + i);
	return count;
}

/* Go 1.26 has a section for runtime.moduledata; before, its first words are searched in the data. */
START_TEST(inlined_functions)
{
	struct image *image = malloc(sizeof(*image));
	const uint64_t data = BASE + offsetof(struct image, calls);
	const uint64_t words[] = { BASE + offsetof(struct image, table),
				   BASE + offsetof(struct image, table.text_of_names) };
	struct go_functions *f;
	struct elf *elf;
	char list[2048];

	image_init(image, MAGIC_1_20);
	memcpy(image->module, words, sizeof(words));
	memcpy(image->module + 320, &data, sizeof(data));
	if (_i)
		memcpy(strstr(image->names + 19, ".go.module"), ".noptrdata", 10);
	f = open_image(&elf, image);
	ck_assert_int_eq(inlined_at(f, TEXT + 4, list, sizeof(list)), 0); /* not searched for */
	ck_assert_int_eq(go_functions_find_inlined(f, NULL, NULL, 0), 0);
	ck_assert_int_eq(inlined_at(f, TEXT + 7, list, sizeof(list)), 2);
	ck_assert_str_eq(list, "main.inner main.middle ");
	ck_assert_int_eq(inlined_at(f, TEXT + 8, list, sizeof(list)), 1);
	ck_assert_str_eq(list, "main.middle ");
	ck_assert_int_eq(inlined_at(f, TEXT + 16, list, sizeof(list)), 0);
	ck_assert_str_eq(list, "");
	/* Without room for all: the inner ones. */
	ck_assert_int_eq(inlined_at(f, TEXT, list, 20), 1);
	ck_assert_str_eq(list, "main.inner ");
	ck_assert_int_eq(inlined_at(f, TEXT, list, 10), 0);
	ck_assert_str_eq(list, "");
	go_functions_close(f);
	elf_close(elf);

	/* A function that is inlined in itself: the list has an end. */
	image->calls[0].parent = 8;
	f = open_image(&elf, image);
	ck_assert_int_eq(go_functions_find_inlined(f, NULL, NULL, 0), 0);
	ck_assert_int_eq(inlined_at(f, TEXT + 8, list, sizeof(list)), 64);
	go_functions_close(f);
	elf_close(elf);
	free(image);
}
END_TEST

START_TEST(nothing_is_inlined)
{
	struct image *image = malloc(sizeof(*image));
	struct go_functions *f;
	struct elf *elf;
	char list[64];

	image_init(image, magics[_i]);
	memcpy(strstr(image->names + 19, ".go.module"), ".noptrdata", 10);
	f = open_image(&elf, image);
	ck_assert_int_eq(go_functions_find_inlined(f, NULL, NULL, 0), -ENOENT);
	ck_assert_int_eq(inlined_at(f, TEXT, list, sizeof(list)), 0);
	ck_assert_str_eq(list, "");
	go_functions_close(f);
	elf_close(elf);
	free(image);
}
END_TEST

static int loaded(void *context, uint64_t address, void *data, size_t size)
{
	const uint64_t text = 0x7000000000 + TEXT;

	ck_assert_uint_eq(size, sizeof(text));
	ck_assert_uint_eq(address, BASE + offsetof(struct image, table.text));
	++*(int *)context;
	memcpy(data, &text, size);
	return 0;
}

START_TEST(text_as_loaded)
{
	struct image *image = malloc(sizeof(*image));
	struct go_function function;
	struct go_functions *f;
	struct elf *elf;
	int asked = 0;

	image_init(image, MAGIC_1_20);
	ck_assert_int_eq(elf_open_buffer(&elf, image, sizeof(*image)), 0);
	ck_assert_int_eq(go_functions_open(&f, elf, loaded, &asked, 0x7000000000), 0);
	ck_assert_int_eq(asked, 1);
	ck_assert_int_eq(go_functions_get(f, 1, &function), 0);
	ck_assert_uint_eq(function.start, TEXT + 32);
	go_functions_close(f);
	elf_close(elf);
	free(image);
}
END_TEST

static void ask_all(const struct image *image)
{
	struct stretches stretches = { 0 };
	struct go_function function;
	struct go_functions *f;
	struct elf *elf;
	char name[32];
	size_t n;

	ck_assert_int_eq(elf_open_buffer(&elf, image, sizeof(*image)), 0);
	if (!go_functions_open(&f, elf, NULL, NULL, 0)) {
		go_functions_find_inlined(f, NULL, NULL, 0);
		for (size_t i = 0; i < go_functions_count(f) && i < 4; i++)
			if (!go_functions_get(f, i, &function)) {
				go_functions_name(f, &function, name, sizeof(name));
				go_functions_stack(f, &function, note, &stretches);
				go_functions_inlined(f, &function, TEXT + 4, name, sizeof(name));
			}
		go_functions_find(f, TEXT + 40, &n);
		go_functions_close(f);
	}
	elf_close(elf);
}

/* Malformed data is an error, not a fault. */
START_TEST(any_bytes)
{
	struct image *image = malloc(sizeof(*image));
	const uint64_t data = BASE + offsetof(struct image, calls);

	srand(17);
	for (int i = 0; i < 20000; i++) {
		image_init(image, magics[i % 2]);
		memcpy(image->module + 320, &data, sizeof(data));
		for (int j = 0; j < 1 + i % 8; j++)
			((uint8_t *)&image->table)[(size_t)rand() % sizeof(image->table)] =
				(uint8_t)rand();
		ask_all(image);
	}
	free(image);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("go_functions");
	TCase *tcase = tcase_create("go_functions");

	tcase_add_loop_test(tcase, as_written, 0, 2);
	tcase_add_test(tcase, text_of_the_module);
	tcase_add_test(tcase, text_as_loaded);
	tcase_add_loop_test(tcase, inlined_functions, 0, 2);
	tcase_add_loop_test(tcase, nothing_is_inlined, 0, 2);
	tcase_add_test(tcase, any_bytes);
	suite_add_tcase(suite, tcase);
	return suite_run_all(suite);
}
