/* Labels of goroutines, in structures as Go has them, and in invalid ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "engine/runtime/go/go_labels.h"
#include "test/fixtures/suite.h"

struct go_string {
	const char *bytes;
	uint64_t length;
};

#define STRING(text)                     \
	{                                \
		(text), sizeof(text) - 1 \
	}

struct machine {
	uintptr_t unknown[4];
	void *user;
};

struct goroutine {
	uintptr_t unknown[3];
	struct machine *machine;
	const void *labels;
};

struct slice {
	const void *at;
	uint64_t count, room;
};

struct map {
	uint64_t count;
	uint8_t flags, shift;
	const void *buckets;
};

struct bucket {
	uint8_t used[8];
	struct go_string keys[8], values[8];
	void *next;
};

static __thread void *volatile current;

static struct machine machine;
static struct goroutine user = { .machine = &machine }, system_goroutine = { .machine = &machine };
static char out[512];

/* The labels, with ';' for each NUL. A count is the same as what is written then. */
static const char *labels_within(size_t max)
{
	size_t size = go_labels_copy(NULL, max);

	ck_assert_uint_le(size, max);
	memset(out, '!', sizeof(out));
	ck_assert_uint_eq(go_labels_copy(out, max), size);
	ck_assert_int_eq(out[size], '!');
	for (size_t i = 0; i < size; i++)
		out[i] = out[i] ? out[i] : ';';
	out[size] = '\0';
	return out;
}

static const char *labels(void)
{
	return labels_within(sizeof(out) - 1);
}

static void use_layout(bool is_map)
{
	const struct go_labels_layout layout = {
		.current = (intptr_t)((uintptr_t)&current - thread_pointer()),
		.machine = offsetof(struct goroutine, machine),
		.user = offsetof(struct machine, user),
		.labels = offsetof(struct goroutine, labels),
		.is_map = is_map,
	};

	go_labels_use(&layout);
	machine.user = &user;
	current = &system_goroutine;
}

static const struct go_string two[][2] = { { STRING("route"), STRING("/pay") },
					   { STRING("user"), STRING("7\0"
								    "8") } };

START_TEST(slices_are_read)
{
	struct slice slice = { two, 2, 2 };

	ck_assert_str_eq(labels(), ""); /* in a program without Go */
	use_layout(false);
	ck_assert_str_eq(labels(), "");
	ck_assert(!go_labels_exist());
	user.labels = &slice;
	ck_assert_str_eq(labels(), "route;/pay;user;7 8;");
	ck_assert(go_labels_exist());

	/* Whole labels, as many as there is room for. */
	ck_assert_str_eq(labels_within(20), "route;/pay;user;7 8;");
	ck_assert_str_eq(labels_within(19), "route;/pay;");
	ck_assert_str_eq(labels_within(10), "user;7 8;");
	ck_assert_str_eq(labels_within(0), "");

	/* In a thread that runs no goroutine, or is not Go's. */
	machine.user = NULL;
	ck_assert_str_eq(labels(), "");
	current = NULL;
	ck_assert_str_eq(labels(), "");
}
END_TEST

START_TEST(maps_are_read)
{
	static struct bucket buckets[2] = {
		{ .used = { 0, 200, 4, 5 },
		  .keys = { STRING("-"), STRING("a"), STRING("-"), STRING("b") },
		  .values = { STRING("-"), STRING("1"), STRING("-"), STRING("2") } },
		{ .used = { [7] = 255 }, .keys[7] = STRING("c"), .values[7] = STRING("3") },
	};
	struct map map = { .count = 2, .buckets = buckets };
	const void *labels_value = &map;

	use_layout(true);
	user.labels = &labels_value;
	ck_assert_str_eq(labels(), "a;1;b;2;");
	map.shift = 1;
	ck_assert_str_eq(labels(), "a;1;b;2;c;3;");
	map.shift = 255;
	ck_assert_str_eq(labels(), "");
	labels_value = NULL;
	ck_assert_str_eq(labels(), "");
}
END_TEST

/* Another version of Go could have other offsets. */
START_TEST(invalid_data_gives_no_labels)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct go_string list[3][2];
	struct slice slice = { list, 3, 3 };
	struct machine other = { .user = &user };

	ck_assert_ptr_ne(pages, MAP_FAILED);
	munmap(pages + page, page);
	memcpy(list, two, sizeof(two));
	use_layout(false);
	user.labels = &slice;

	list[2][0] = (struct go_string){ pages + page - 1, 2 };
	list[2][1] = (struct go_string)STRING("value");
	ck_assert_uint_eq(go_labels_copy(NULL, 500), 29);
	ck_assert_uint_eq(go_labels_copy(out, 500),
			  20); /* without the last one, which has no bytes */
	list[2][0] = (struct go_string){ "key", UINT64_MAX };
	ck_assert_str_eq(labels(), "route;/pay;user;7 8;");
	list[2][0] = (struct go_string){ "key", UINT64_MAX / 2 };
	list[2][1] = (struct go_string){ "value", UINT64_MAX / 2 + 2 };
	ck_assert_str_eq(labels(), "route;/pay;user;7 8;");

	slice.count = UINT64_MAX;
	slice.at = pages + page - sizeof(two);
	memcpy(pages + page - sizeof(two), two, sizeof(two));
	ck_assert_str_eq(labels(), "route;/pay;user;7 8;");
	memset(pages, 0, page);
	slice.at = pages; /* a page of empty labels */
	ck_assert_str_eq(labels(), "");

	user.labels = (void *)8;
	ck_assert_str_eq(labels(), "");
	user.labels = &slice;
	slice.at = two;
	user.machine = &other;
	ck_assert_str_eq(labels(), "");
	machine.user = (void *)UINTPTR_MAX;
	ck_assert_str_eq(labels(), "");
	current = (void *)16;
	ck_assert_str_eq(labels(), "");
	munmap(pages, page);
}
END_TEST

/* A program of Go 1.22 with two thread-local variables, of which runtime.tlsg is the second one. */
struct program {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	struct {
		Elf64_Nhdr header;
		char name[4];
	} note;
	_Alignas(16) uint8_t build_info[48];
	Elf64_Sym symbols[2];
	char strings[16];
	Elf64_Shdr sections[3];
};

static void program_init(struct program *p, uint64_t value, uint64_t tls_bytes)
{
	memset(p, 0, sizeof(*p));
	memcpy(p->header.e_ident, ELFMAG, SELFMAG);
	p->header.e_ident[EI_CLASS] = ELFCLASS64;
	p->header.e_ident[EI_DATA] = ELFDATA2LSB;
	p->header.e_phoff = offsetof(struct program, segments);
	p->header.e_phentsize = sizeof(Elf64_Phdr);
	p->header.e_phnum = 3;
	p->header.e_shoff = offsetof(struct program, sections);
	p->header.e_shentsize = sizeof(Elf64_Shdr);
	p->header.e_shnum = 3;
	p->segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
				       .p_flags = PF_R | PF_W,
				       .p_filesz = sizeof(*p),
				       .p_memsz = sizeof(*p) };
	p->segments[1] = (Elf64_Phdr){ .p_type = PT_NOTE,
				       .p_vaddr = offsetof(struct program, note),
				       .p_memsz = sizeof(p->note) };
	p->segments[2] = (Elf64_Phdr){ .p_type = PT_TLS, .p_memsz = tls_bytes, .p_align = 8 };
	p->note.header = (Elf64_Nhdr){ .n_namesz = 4, .n_type = 4 };
	strcpy(p->note.name, "Go");
	memcpy(p->build_info, "\xff Go buildinf:", 14);
	p->build_info[15] = 2;
	p->build_info[32] = 6;
	memcpy(p->build_info + 33, "go1.22", 6);
	strcpy(p->strings + 1, "runtime.tlsg");
	p->symbols[1] = (Elf64_Sym){ .st_name = 1,
				     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
				     .st_value = value };
	p->sections[1] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
				       .sh_offset = offsetof(struct program, symbols),
				       .sh_size = sizeof(p->symbols),
				       .sh_entsize = sizeof(Elf64_Sym),
				       .sh_link = 2 };
	p->sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				       .sh_offset = offsetof(struct program, strings),
				       .sh_size = sizeof(p->strings) };
}

/* Search a program with 16 bytes of thread-local variables, whose path has a file with FILE_BYTES of them now. */
static int find(struct go_labels_layout *found, uint64_t value, uint64_t file_bytes)
{
	char path[] = "/tmp/go-test-XXXXXX";
	struct program *loaded = aligned_alloc(16, sizeof(*loaded)), file;
	struct module module = { .path = path, .bias = (uintptr_t)loaded };
	struct elf *image;
	int fd = mkstemp(path), err;

	program_init(loaded, value, 16);
	program_init(&file, value, file_bytes);
	ck_assert_int_eq(write(fd, &file, sizeof(file)), sizeof(file));
	close(fd);
	ck_assert_int_eq(elf_open_image(&image, (uintptr_t)loaded, sizeof(*loaded)), 0);
	err = go_labels_find(found, image, &module);
	elf_close(image);
	unlink(path);
	free(loaded);
	return err;
}

/* A handler reads it in place. */
START_TEST(the_variable_is_in_its_block)
{
	struct go_labels_layout found;

	if (ARCH_RA != 16) /* elsewhere it is not needed */
		return;
	ck_assert_int_eq(find(&found, 8, 16), 0);
	ck_assert_int_eq(found.current, thread_pointer_offset(8, 16, 8));
	ck_assert_int_eq(find(&found, 9, 16), -ENOENT);
	ck_assert_int_eq(find(&found, 16, 16), -ENOENT);
	ck_assert_int_eq(find(&found, UINT64_MAX, 16), -ENOENT);
	ck_assert_int_eq(find(&found, 8, 24), -ENOENT); /* another file */
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("go_labels");

	tcase_add_test(tcase, slices_are_read);
	tcase_add_test(tcase, maps_are_read);
	tcase_add_test(tcase, invalid_data_gives_no_labels);
	tcase_add_test(tcase, the_variable_is_in_its_block);
	return suite_run(tcase);
}
