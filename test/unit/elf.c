/* engine/elf/elf: real files of this machine, small ones made here, and malformed ones. */
#include "engine/elf/elf.h"
#include "engine/elf/elf_identity.h"
#include "engine/elf/image_symbols.h"
#include "engine/elf/module_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

/* A file with two segments, three sections and one build id; a test may damage each part. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[8];
	} note;
	char names[32];
	struct {
		char name[8];
		uint32_t crc;
	} link;
	Elf64_Sym symbols[2];
	Elf64_Shdr sections[4];
};

#define NAMES "\0.names\0.gnu_debuglink\0.sym"

static void image_init(struct image *image)
{
	memset(image, 0, sizeof(*image));
	memcpy(image->header.e_ident, ELFMAG, SELFMAG);
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->header.e_phoff = offsetof(struct image, segments);
	image->header.e_phentsize = sizeof(Elf64_Phdr);
	image->header.e_phnum = 2;
	image->header.e_shoff = offsetof(struct image, sections);
	image->header.e_shentsize = sizeof(Elf64_Shdr);
	image->header.e_shnum = 4;
	image->header.e_shstrndx = 1;

	image->segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
					   .p_vaddr = 0x10000,
					   .p_filesz = sizeof(*image),
					   .p_memsz = sizeof(*image) };
	image->segments[1] = (Elf64_Phdr){ .p_type = PT_NOTE,
					   .p_vaddr = 0x10000 + offsetof(struct image, note),
					   .p_offset = offsetof(struct image, note),
					   .p_filesz = sizeof(image->note) };
	image->note.header = (Elf64_Nhdr){ 4, 8, NT_GNU_BUILD_ID };
	memcpy(image->note.name, "GNU", 4);
	memcpy(image->note.id, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);

	memcpy(image->names, NAMES, sizeof(NAMES));
	image->sections[1] = (Elf64_Shdr){ .sh_name = 1,
					   .sh_type = SHT_STRTAB,
					   .sh_offset = offsetof(struct image, names),
					   .sh_size = sizeof(NAMES) };
	image->sections[2] = (Elf64_Shdr){ .sh_name = 8,
					   .sh_type = SHT_PROGBITS,
					   .sh_offset = offsetof(struct image, link),
					   .sh_size = sizeof(image->link) };
	image->sections[3] = (Elf64_Shdr){ .sh_name = 23,
					   .sh_type = SHT_SYMTAB,
					   .sh_link = 1,
					   .sh_entsize = sizeof(Elf64_Sym),
					   .sh_offset = offsetof(struct image, symbols),
					   .sh_size = sizeof(image->symbols) };
	memcpy(image->link.name, "a.debug", 8);
	image->link.crc = 0x12345678;
	image->symbols[1].st_value = 0x10040;
}

static int count_symbols(void *context, const Elf64_Sym *symbol)
{
	(void)symbol;
	++*(int *)context;
	return 0;
}

/* Call every query; missing data is an error, not a fault. */
static void ask_all(struct elf *elf)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	char name[ELF_NAME_MAX];
	uint32_t crc;
	int count = 0;

	elf_build_id(elf, id);
	elf_debug_link(elf, name, &crc);
	elf_crc32(elf, &crc);
	for (size_t i = 0; i < elf_section_count(elf); i++) {
		elf_string(elf, elf_section(elf, i), 0, name, sizeof(name));
		elf_symbols(elf, elf_section(elf, i), count_symbols, &count);
	}
	for (size_t i = 0; i < elf_segment_count(elf); i++)
		elf_read_address(elf, elf_segment(elf, i)->p_vaddr, name, sizeof(name));
}

START_TEST(reads_what_is_there)
{
	struct image image;
	struct elf *elf;
	uint8_t id[ELF_BUILD_ID_MAX];
	char name[ELF_NAME_MAX];
	uint32_t crc;
	uint64_t value;
	int count = 0;

	image_init(&image);
	ck_assert_int_eq(elf_open_buffer(&elf, &image, sizeof(image)), 0);
	ck_assert_int_eq(elf_build_id(elf, id), 8);
	ck_assert_mem_eq(id, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
	ck_assert_int_eq(elf_debug_link(elf, name, &crc), 0);
	ck_assert_str_eq(name, "a.debug");
	ck_assert_uint_eq(crc, 0x12345678);
	ck_assert_ptr_eq(elf_find_section(elf, ".sym"), elf_section(elf, 3));
	ck_assert_ptr_eq(elf_find_section_type(elf, SHT_SYMTAB), elf_section(elf, 3));
	ck_assert_ptr_null(elf_find_section(elf, ".none"));
	ck_assert_ptr_null(elf_section(elf, 4));
	ck_assert_int_eq(elf_symbols(elf, elf_section(elf, 3), count_symbols, &count), 0);
	ck_assert_int_eq(count, 2);
	ck_assert_int_eq(elf_read_address(elf,
					  0x10000 + offsetof(struct image, symbols[1].st_value),
					  &value, sizeof(value)),
			 0);
	ck_assert_uint_eq(value, 0x10040);
	elf_close(elf);
}
END_TEST

START_TEST(strings_are_cut_or_refused)
{
	struct image image;
	struct elf *elf;
	char text[8];

	image_init(&image);
	image.sections[1].sh_size = 12; /* ends within ".gnu_debuglink" */
	ck_assert_int_eq(elf_open_buffer(&elf, &image, sizeof(image)), 0);
	ck_assert_int_eq(elf_string(elf, elf_section(elf, 1), 1, text, sizeof(text)), 6);
	ck_assert_str_eq(text, ".names");
	ck_assert_int_eq(elf_string(elf, elf_section(elf, 1), 1, text, 4), 3);
	ck_assert_str_eq(text, ".na");
	ck_assert_int_eq(elf_string(elf, elf_section(elf, 1), 8, text, sizeof(text)), -ENODATA);
	ck_assert_int_eq(elf_string(elf, elf_section(elf, 1), 12, text, sizeof(text)), -ENODATA);
	ck_assert_int_eq(elf_string(elf, elf_section(elf, 1), UINT64_MAX, text, sizeof(text)),
			 -ENODATA);
	elf_close(elf);
}
END_TEST

START_TEST(every_truncation_is_an_error)
{
	struct image image;
	struct elf *elf;

	image_init(&image);
	for (size_t size = 0; size < sizeof(image); size++) {
		uint8_t *copy =
			malloc(size + 1); /* so that a sanitizer detects one byte too many */

		memcpy(copy, &image, size);
		/* The section table is last, so any cut damages it. */
		ck_assert_int_lt(elf_open_buffer(&elf, copy, size), 0);
		free(copy);
	}
}
END_TEST

START_TEST(no_byte_can_hurt)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct image image;
	struct elf *elf;

	for (size_t i = 0; i < sizeof(image) * sizeof(values); i++) {
		image_init(&image);
		((uint8_t *)&image)[i / sizeof(values)] = values[i % sizeof(values)];
		if (elf_open_buffer(&elf, &image, sizeof(image)))
			continue;
		ask_all(elf);
		elf_close(elf);
	}
}
END_TEST

START_TEST(own_executable_as_file_and_as_image)
{
	uint8_t id[ELF_BUILD_ID_MAX], mapped_id[ELF_BUILD_ID_MAX];
	extern const char __ehdr_start[];
	struct elf *elf;
	uint64_t size;
	int n, count = 0;

	ck_assert_int_eq(elf_open(&elf, "/proc/self/exe"), 0);
	size = elf_size(elf);
	n = elf_build_id(elf, id);
	ck_assert_int_gt(n, 0);
	ck_assert_ptr_nonnull(elf_find_section(elf, ".text"));
	ck_assert_int_eq(
		elf_symbols(elf, elf_find_section_type(elf, SHT_SYMTAB), count_symbols, &count), 0);
	ck_assert_int_gt(count, 100);
	elf_close(elf);

	ck_assert_int_eq(elf_open_image(&elf, (uintptr_t)__ehdr_start, (size_t)size), 0);
	ck_assert_int_eq(elf_build_id(elf, mapped_id), n);
	ck_assert_mem_eq(id, mapped_id, (size_t)n);
	ck_assert_ptr_nonnull(elf_find_segment(elf, PT_GNU_EH_FRAME));
	elf_close(elf);
}
END_TEST

START_TEST(vdso_is_a_whole_file)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct elf *elf;
	int count = 0;

	if (!header)
		return;
	/* The linker puts the section headers last. */
	ck_assert_int_eq(elf_open_buffer(&elf, header,
					 header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr)),
			 0);
	ck_assert_int_eq(
		elf_symbols(elf, elf_find_section_type(elf, SHT_DYNSYM), count_symbols, &count), 0);
	ck_assert_int_gt(count, 2);
	elf_close(elf);
}
END_TEST

/* As the loader maps it. */
START_TEST(one_symbol_of_an_image)
{
	static const char *const names[] = { "malloc", "environ", "qsort", "__libc_start_main" };
	Elf64_Sym symbol;
	struct elf *elf;
	Dl_info libc;
	void *at;

	ck_assert(dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &libc));
	ck_assert_int_eq(elf_open_image(&elf, (uintptr_t)libc.dli_fbase,
					UINTPTR_MAX - (uintptr_t)libc.dli_fbase),
			 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ck_assert_int_eq(image_symbol(elf, names[i], &symbol), 0);
		at = (void *)((uintptr_t)libc.dli_fbase + symbol.st_value);
		ck_assert(dladdr(at, &libc) && libc.dli_sname);
		ck_assert_ptr_eq(libc.dli_saddr, at);
	}
	ck_assert_int_eq(image_symbol(elf, "no such symbol", &symbol), -ENOENT);
	ck_assert_int_eq(image_symbol(elf, "", &symbol), -ENOENT);
	/* A symbol that it imports. */
	ck_assert_int_eq(image_symbol(elf, "_rtld_global", &symbol), -ENOENT);
	elf_close(elf);
}
END_TEST

START_TEST(memory_that_is_gone_is_an_error)
{
	struct elf *elf;
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t id[ELF_BUILD_ID_MAX];
	struct image image;

	image_init(&image);
	memcpy(page, &image, sizeof(image));
	ck_assert_int_eq(elf_open_image(&elf, (uintptr_t)page, 4096), 0);
	ck_assert_int_eq(elf_build_id(elf, id), 8);
	munmap(page, 8192);
	ck_assert_int_eq(elf_build_id(elf, id), -ENOENT);
	elf_close(elf);
	ck_assert_int_eq(elf_open_image(&elf, (uintptr_t)page, 4096), -EFAULT);
	ck_assert_int_eq(elf_open_image(&elf, 0, 4096), -EINVAL);
	ck_assert_int_eq(elf_open_image(&elf, UINTPTR_MAX - 10, 4096), -EINVAL);
}
END_TEST

START_TEST(file_truncated_while_open)
{
	char path[] = "/tmp/asprof-elf-XXXXXX";
	int fd = mkstemp(path);
	uint32_t crc;
	struct image image;
	struct elf *elf;

	image_init(&image);
	ck_assert_int_eq(write(fd, &image, sizeof(image)), sizeof(image));
	ck_assert_int_eq(elf_open(&elf, path), 0);
	ck_assert_int_eq(elf_crc32(elf, &crc), 0);
	ck_assert_int_eq(ftruncate(fd, 100), 0);
	ck_assert_int_eq(elf_crc32(elf, &crc), -ENODATA);
	ask_all(elf);
	elf_close(elf);
	close(fd);
	unlink(path);
}
END_TEST

START_TEST(only_regular_files)
{
	char path[] = "/tmp/asprof-elf-XXXXXX";
	struct elf *elf;

	ck_assert_int_eq(elf_open(&elf, "/dev/null"), -EINVAL);
	ck_assert_int_eq(elf_open(&elf, "/tmp"), -EINVAL);
	ck_assert_int_eq(elf_open(&elf, "/nonexistent/x"), -ENOENT);
	ck_assert_int_eq(elf_open(&elf, "/etc/passwd"), -ENOEXEC);
	close(mkstemp(path));
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(elf_open(&elf, path), -EINVAL); /* and does not wait for a writer */
	unlink(path);
}
END_TEST

START_TEST(crc_is_that_of_debuglink)
{
	/* The check value of this CRC for the nine digits is well known. The reader needs a whole
	 * ELF file, so compare with a bitwise sum over one. */
	struct image image;
	uint32_t crc, want = UINT32_MAX;
	struct elf *elf;

	image_init(&image);
	for (size_t i = 0; i < sizeof(image); i++) {
		want ^= ((const uint8_t *)&image)[i];
		for (int bit = 0; bit < 8; bit++)
			want = want & 1 ? (want >> 1) ^ 0xedb88320u : want >> 1;
	}
	ck_assert_int_eq(elf_open_buffer(&elf, &image, sizeof(image)), 0);
	ck_assert_int_eq(elf_crc32(elf, &crc), 0);
	ck_assert_uint_eq(crc, ~want);
	elf_close(elf);
}
END_TEST

/* A program's writer would notice a reader. */
START_TEST(a_fifo_is_not_opened)
{
	char directory[] = "/tmp/elf-test-XXXXXX", path[64], event[512];
	int notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/fifo", directory);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_ge(inotify_add_watch(notify, path, IN_OPEN), 0);
	ck_assert_int_eq(module_file_open(path), -EINVAL);
	ck_assert_int_lt(read(notify, event, sizeof(event)), 0);
	ck_assert_int_eq(errno, EAGAIN);
	close(notify);
	unlink(path);
	rmdir(directory);
	ck_assert_int_eq(module_file_open(path), -ENOENT);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, reads_what_is_there);
	tcase_add_test(tcase, strings_are_cut_or_refused);
	tcase_add_test(tcase, every_truncation_is_an_error);
	tcase_add_test(tcase, no_byte_can_hurt);
	tcase_add_test(tcase, own_executable_as_file_and_as_image);
	tcase_add_test(tcase, vdso_is_a_whole_file);
	tcase_add_test(tcase, one_symbol_of_an_image);
	tcase_add_test(tcase, memory_that_is_gone_is_an_error);
	tcase_add_test(tcase, file_truncated_while_open);
	tcase_add_test(tcase, only_regular_files);
	tcase_add_test(tcase, a_fifo_is_not_opened);
	tcase_add_test(tcase, crc_is_that_of_debuglink);
	return suite_run(tcase);
}
