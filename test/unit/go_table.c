/* engine/runtime/go/go_table.c: unwind rules from Go's function table. */
#include "engine/runtime/go/go_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "test/fixtures/suite.h"

#define TEXT  0x401000u
#define BASE  0x500000u
#define BYTES 32 /* of each function */

/* Two functions, of which the second one is "main.main". */
struct program {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	char names[16];
	struct {
		uint32_t magic;
		uint8_t pad[2], instruction_bytes, pointer_bytes;
		uint64_t functions, files, text, names, units, file_names, tables, code;
		char text_of_names[32];
		uint8_t stacks[8];
		uint32_t functab[5], unused;
		struct {
			uint32_t start, name, unused[2], stack, more[6];
		} entry[2];
	} table;
	Elf64_Shdr sections[3];
};

#define TABLE(member) (offsetof(struct program, table.member) - offsetof(struct program, table))

static void program_init(struct program *p, const char *first)
{
	/* The stack grows by nothing. */
	static const uint8_t stacks[] = { 0, 2, BYTES, 0 };

	memset(p, 0, sizeof(*p));
	memcpy(p->header.e_ident, ELFMAG, SELFMAG);
	p->header.e_ident[EI_CLASS] = ELFCLASS64;
	p->header.e_ident[EI_DATA] = ELFDATA2LSB;
	p->header.e_phoff = offsetof(struct program, segment);
	p->header.e_phentsize = sizeof(Elf64_Phdr);
	p->header.e_phnum = 1;
	p->header.e_shoff = offsetof(struct program, sections);
	p->header.e_shentsize = sizeof(Elf64_Shdr);
	p->header.e_shnum = 3;
	p->header.e_shstrndx = 1;
	p->segment = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = sizeof(*p), .p_memsz = sizeof(*p)
	};
	memcpy(p->names, "\0.gopclntab", 12);
	p->sections[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				       .sh_offset = offsetof(struct program, names),
				       .sh_size = sizeof(p->names) };
	p->sections[2] = (Elf64_Shdr){ .sh_name = 1,
				       .sh_type = SHT_PROGBITS,
				       .sh_addr = BASE + offsetof(struct program, table),
				       .sh_offset = offsetof(struct program, table),
				       .sh_size = sizeof(p->table) };
	p->table.magic = 0xfffffff1u;
	p->table.instruction_bytes = 1;
	p->table.pointer_bytes = 8;
	p->table.functions = 2;
	p->table.text = TEXT;
	p->table.names = TABLE(text_of_names);
	p->table.tables = TABLE(stacks);
	p->table.code = TABLE(functab);
	strcpy(p->table.text_of_names, "main.main");
	strcpy(p->table.text_of_names + 10, first);
	memcpy(p->table.stacks, stacks, sizeof(stacks));
	for (uint32_t i = 0; i < 2; i++) {
		p->table.functab[2 * i] = BYTES * i;
		p->table.functab[2 * i + 1] = (uint32_t)(TABLE(entry[i]) - TABLE(functab));
		p->table.entry[i].start = BYTES * i;
		p->table.entry[i].name = i ? 0 : 10;
		p->table.entry[i].stack = 1;
	}
	p->table.functab[4] = 2 * BYTES;
}

/* Compile the table of a program that is mapped from its file. */
static struct unwind_table *compile(const char *first)
{
	char path[] = "/tmp/go-test-XXXXXX";
	struct image image = { .path = path, .phdr_count = 1, .fd = -1 };
	struct program program, *mapped;
	struct unwind_table *table;
	int fd = mkstemp(path);

	program_init(&program, first);
	ck_assert_int_eq(write(fd, &program, sizeof(program)), sizeof(program));
	mapped = mmap(NULL, sizeof(program), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(mapped, MAP_FAILED);
	close(fd);
	image.bias = (uintptr_t)mapped - BASE;
	image.phdrs[0] = program.segment;
	mapped->table.text += image.bias; /* as the loader relocates it */
	table = go_table_compile(&image, image.bias + TEXT, image.bias + TEXT + 2 * BYTES, NULL);
	munmap(mapped, sizeof(program));
	unlink(path);
	return table;
}

START_TEST(a_signal_return_at_the_begin)
{
	struct unwind_table *table = compile("runtime.sigreturn");

	if (ARCH_RA != 16) {
		ck_assert_ptr_null(table);
		return;
	}
	ck_assert_ptr_nonnull(table);
	ck_assert_uint_eq(unwind_table_find(table, 0), RULE_INDEX_SIGNAL);
	ck_assert_uint_ge(unwind_table_find(table, BYTES), RULE_INDEX_FIRST);
	free(table);
}
END_TEST

static void setup(void)
{
	cfi_rules_init();
}

int main(void)
{
	TCase *tcase = tcase_create("go_table");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_signal_return_at_the_begin);
	return suite_run(tcase);
}
