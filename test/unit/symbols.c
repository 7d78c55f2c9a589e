/* engine/symbols/symbols as a whole: libraries built here and stripped in every way, and the
 * modules of this process. Skips without a compiler and binutils. */
#include "engine/symbols/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/elf/elf.h"
#include "engine/elf/image_symbols.h"
#include "engine/modules/modules.h"
#include "engine/symbols/debug_file.h"
#include "engine/symbols/module_symbols.h"
#include "engine/process/perf_list.h"
#include "test/fixtures/suite.h"

static char directory[64] = "/tmp/asprof-symbols-XXXXXX";
static struct symbols *symbols;

/* A local function, which only .symtab has, calls itself and an exported one; the third calls
 * through the PLT. The last is assembler without a size. */
static const char source[] =
	"#include <unistd.h>\n"
	"static __attribute__((noinline, used)) int hidden_one(int a) { return a * 3 + 1; }\n"
	"int exported_one(int a) { return a + 7; }\n"
	"int caller_of_write(int a) { return (int)write(-1, &a, 4) + 1; }\n"
	"void *address_of_hidden(void) { return (void *)hidden_one; }\n"
	"void *return_address(void) { return __builtin_return_address(0); }\n"
	"void *unsized_address(void);\n"
	"__asm__(\".globl unsized_one\\n.hidden "
	"unsized_one\\nunsized_one:\\nnop\\nnop\\nnop\\nret\\n\");\n"
	"extern char unsized_one[] __attribute__((visibility(\"hidden\")));\n"
	"void *unsized_address(void) { return unsized_one; }\n";

__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
	char command[4096];
	va_list args;
	int n = snprintf(command, sizeof(command), "cd %s && exec 2>&1\n", directory);

	va_start(args, format);
	vsnprintf(command + n, sizeof(command) - (size_t)n, format, args);
	va_end(args);
	return system(command);
}

static void write_source(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
	write_source("lib.c", source);
	ck_assert_int_eq(shell("cc -O1 -g -fPIC -shared -Wl,--build-id=sha1 -o lib.so lib.c"), 0);
	ck_assert_int_eq(symbols_open(&symbols), 0);
}

static void teardown(void)
{
	symbols_close(symbols);
	modules_close();
	ck_assert_int_eq(shell("rm -rf %s", directory), 0);
}

/* Load the library NAME from the test's directory and refresh the modules. */
static void *load(const char *name)
{
	char path[PATH_MAX];
	void *library;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
	ck_assert_int_eq(modules_open(), 0);
	return library;
}

static void *call(void *library, const char *function)
{
	void *(*f)(void) = (void *(*)(void))dlsym(library, function);

	ck_assert_ptr_nonnull(f);
	return f();
}

static struct symbol resolve(uintptr_t pc)
{
	struct symbol symbol;

	ck_assert_int_eq(symbols_resolve(symbols, &pc, 1, &symbol), 0);
	return symbol;
}

static void expect(uintptr_t pc, const char *name, const char *module)
{
	struct symbol symbol = resolve(pc);

	ck_assert_str_eq(symbol.name, name);
	ck_assert_str_eq(symbol.module, module);
	ck_assert_uint_le(symbol.start, pc);
}

static void expect_all(void *library, const char *module)
{
	expect((uintptr_t)call(library, "address_of_hidden") + 1, "hidden_one", module);
	expect((uintptr_t)dlsym(library, "exported_one"), "exported_one", module);
	expect((uintptr_t)call(library, "unsized_address") + 2, "unsized_one", module);
	ck_assert_uint_eq(resolve((uintptr_t)dlsym(library, "exported_one") + 1).start,
			  (uintptr_t)dlsym(library, "exported_one"));
}

/* The name of an address without a symbol: the start of its function, by .eh_frame, or without an
 * entry the address itself. */
static void expect_place(void *library, const char *module)
{
	uintptr_t start = (uintptr_t)call(library, "address_of_hidden");
	uintptr_t unsized = (uintptr_t)call(library, "unsized_address") + 2;
	char expected[256];
	Dl_info info;

	ck_assert_int_ne(dladdr((void *)start, &info), 0);
	snprintf(expected, sizeof(expected), "%s+0x%zx", module,
		 (size_t)(start - (uintptr_t)info.dli_fbase));
	expect(start, expected, module);
	expect(start + 1, expected, module);
	ck_assert_uint_eq(resolve(start + 1).start, start);
	snprintf(expected, sizeof(expected), "%s+0x%zx", module,
		 (size_t)(unsized - (uintptr_t)info.dli_fbase));
	expect(unsized, expected, module);
	expect((uintptr_t)dlsym(library, "exported_one") + 1, "exported_one", module);
}

START_TEST(own_symbol_table)
{
	expect_all(load("lib.so"), "lib.so");
}
END_TEST

START_TEST(dynamic_symbols_alone)
{
	ck_assert_int_eq(shell("strip -o bare.so lib.so"), 0);
	expect_place(load("bare.so"), "bare.so");
}
END_TEST

/* As in static programs: .eh_frame without a search table. */
START_TEST(unwind_entries_alone)
{
	ck_assert_int_eq(shell("cc -O1 -fPIC -shared -Wl,--no-eh-frame-hdr -o bare.so lib.c && "
			       "strip bare.so"),
			 0);
	expect_place(load("bare.so"), "bare.so");
}
END_TEST

/* Debug link: in the file's directory, in .debug, or neither. */
START_TEST(debug_link)
{
	static const char *const places[] = { "x.debug", ".debug/x.debug" };

	ck_assert_int_eq(shell("objcopy --only-keep-debug lib.so x.debug && "
			       "strip -o linked.so lib.so && "
			       "objcopy --add-gnu-debuglink=x.debug linked.so && "
			       "mkdir .debug && { [ %s = x.debug ] || mv x.debug %s; }",
			       places[_i], places[_i]),
			 0);
	expect_all(load("linked.so"), "linked.so");
}
END_TEST

START_TEST(debug_link_without_build_id)
{
	ck_assert_int_eq(shell("cc -O1 -g -fPIC -shared -Wl,--build-id=none -o lib.so lib.c && "
			       "objcopy --only-keep-debug lib.so x.debug && "
			       "strip -o linked.so lib.so && "
			       "objcopy --add-gnu-debuglink=x.debug linked.so"),
			 0);
	if (_i) /* another checksum: not its file */
		ck_assert_int_eq(shell("printf x >>x.debug"), 0);
	if (_i)
		expect_place(load("linked.so"), "linked.so");
	else
		expect_all(load("linked.so"), "linked.so");
}
END_TEST

START_TEST(debug_link_to_another_build)
{
	ck_assert_int_eq(shell("sed s/hidden_one/other_one/ lib.c >other.c && "
			       "cc -O0 -g -fPIC -shared -Wl,--build-id=sha1 -o other.so other.c && "
			       "objcopy --only-keep-debug other.so x.debug && "
			       "strip -o linked.so lib.so && "
			       "objcopy --add-gnu-debuglink=x.debug linked.so"),
			 0);
	expect_place(load("linked.so"), "linked.so");
}
END_TEST

/* debug_file_open_separate with another root than the system's. */
START_TEST(debug_file_by_build_id)
{
	char path[PATH_MAX];
	struct elf *file, *separate;

	ck_assert_int_eq(
		shell("id=$(readelf -n lib.so | sed -n 's/.*Build ID: //p') && "
		      "d=root/.build-id/$(echo $id | cut -c1-2) && mkdir -p $d && "
		      "objcopy --only-keep-debug lib.so $d/$(echo $id | cut -c3-).debug && "
		      "strip -o bare.so lib.so"),
		0);
	snprintf(path, sizeof(path), "%s/bare.so", directory);
	ck_assert_int_eq(elf_open(&file, path), 0);
	ck_assert_int_lt(debug_file_open_separate(&separate, file, path, directory), 0);
	strcat(directory, "/root");
	ck_assert_int_eq(debug_file_open_separate(&separate, file, path, directory), 0);
	*strrchr(directory, '/') = '\0';
	ck_assert_ptr_nonnull(elf_find_section_type(separate, SHT_SYMTAB));
	elf_close(separate);
	elf_close(file);
}
END_TEST

/* In the form of Fedora: the symbol table in an ELF file, packed, in a section. */
START_TEST(packed_symbols)
{
	ck_assert_int_eq(shell("objcopy --strip-debug lib.so mini && xz %s mini && "
			       "strip -o packed.so lib.so && "
			       "objcopy --add-section .gnu_debugdata=mini.xz packed.so",
			       _i ? "-6e --check=crc64" : "-0"),
			 0);
	expect_all(load("packed.so"), "packed.so");
}
END_TEST

START_TEST(packed_symbols_spoilt)
{
	static const char *const harms[] = {
		"head -c 200 mini.xz >x",
		"{ head -c 300 mini.xz; head -c 4000 /dev/zero; } >x",
		"head -c 100 /dev/urandom >x",
		": >x && printf x >x",
		/* A hundred million zeros are not a symbol table. */
		"head -c 100000000 /dev/zero | xz -0 >x",
	};

	ck_assert_int_eq(shell("objcopy --strip-debug lib.so mini && xz mini && { %s; } && "
			       "strip -o packed.so lib.so && "
			       "objcopy --add-section .gnu_debugdata=x packed.so",
			       harms[_i]),
			 0);
	expect_place(load("packed.so"), "packed.so");
}
END_TEST

/* Target of the first direct call in FUNCTION; bytes that only look like a call have another target. */
static uintptr_t first_called(void *library, const char *function)
{
	uintptr_t start = (uintptr_t)dlsym(library, function);

	ck_assert_uint_ne(start, 0);
#if defined(__x86_64__)
	for (uintptr_t at = start; at < start + 64; at++) {
		int32_t distance;

		if (*(const uint8_t *)at != 0xe8)
			continue;
		memcpy(&distance, (const void *)(at + 1), sizeof(distance));
		return at + 5 + (uintptr_t)(intptr_t)distance;
	}
#elif defined(__aarch64__)
	for (uintptr_t at = start; at < start + 64; at += 4) {
		uint32_t word = *(const uint32_t *)at;

		if (word >> 26 == 0x25) /* bl */
			return at + (uintptr_t)((intptr_t)(int32_t)(word << 6) >> 4);
	}
#endif
	ck_abort_msg("%s calls nothing", function);
}

static const char *const plt_flags[] = { "-Wl,-z,lazy", "-Wl,-z,now -fcf-protection=none",
					 "-Wl,-z,lazy -Wl,-z,ibtplt" };

START_TEST(stub_of_the_plt)
{
	struct symbol symbol;
	uintptr_t site;

	ck_assert_int_eq(shell("cc -O1 -fPIC -shared %s -o lib.so lib.c", plt_flags[_i]), 0);
	site = first_called(load("lib.so"), "caller_of_write");
	symbol = resolve(site + 4);
	ck_assert_str_eq(symbol.name, "write@plt");
	ck_assert_uint_eq(symbol.start, site);
}
END_TEST

struct symbols_file {
	struct elf *elf;
	const Elf64_Shdr *table, *strings;
	size_t number;
	int fd;
};

static int remove_name(void *context, const Elf64_Sym *symbol)
{
	struct symbols_file *file = context;
	const Elf64_Word none = 0;
	char name[16];

	if (elf_string(file->elf, file->strings, symbol->st_name, name, sizeof(name)) >= 0 &&
	    !strcmp(name, "write"))
		ck_assert_int_eq(
			pwrite(file->fd, &none, sizeof(none),
			       (off_t)(file->table->sh_offset + file->number * sizeof(*symbol))),
			sizeof(none));
	file->number++;
	return 0;
}

START_TEST(stub_of_a_symbol_without_a_name)
{
	struct symbols_file file = { 0 };
	char path[PATH_MAX];
	uintptr_t site = first_called(load("lib.so"), "caller_of_write");

	snprintf(path, sizeof(path), "%s/lib.so", directory);
	file.fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(file.fd, 0);
	ck_assert_int_eq(elf_open(&file.elf, path), 0);
	file.table = elf_find_section_type(file.elf, SHT_DYNSYM);
	file.strings = elf_section(file.elf, file.table->sh_link);
	ck_assert_int_eq(elf_symbols(file.elf, file.table, remove_name, &file), 0);
	elf_close(file.elf);
	close(file.fd);
	ck_assert_ptr_nonnull(strstr(resolve(site).name, "lib.so+0x"));
}
END_TEST

/* Two functions that are selected at load time: one is exported, and called by a hidden name as in
 * the C library; the other is only in .symtab. */
static const char chosen_source[] =
	"static int it(int a) { return a * 3; }\n"
	"static int (*choose(void))(int) { return it; }\n"
	"static int (*choose_again(void))(int) { return it; }\n"
	"int chosen(int a) __attribute__((ifunc(\"choose\")));\n"
	"extern int chosen_here(int a) __attribute__((alias(\"chosen\"), "
	"visibility(\"hidden\")));\n"
	"int hidden(int a) __attribute__((ifunc(\"choose_again\"), visibility(\"hidden\")));\n"
	"int caller_of_chosen(int a) { return chosen_here(a) + 1; }\n"
	"int caller_of_hidden(int a) { return hidden(a) + 1; }\n";

START_TEST(stub_of_a_function_that_is_chosen)
{
	struct symbol symbol;
	uintptr_t site;
	void *library;

	write_source("chosen.c", chosen_source);
	ck_assert_int_eq(shell("cc -O1 -fPIC -shared %s -o whole.so chosen.c && "
			       "strip -o stripped.so whole.so",
			       plt_flags[_i]),
			 0);
	library = load("whole.so");
	site = first_called(library, "caller_of_hidden");
	symbol = resolve(site + 4);
	ck_assert_str_eq(symbol.name, "hidden@plt");
	ck_assert_uint_eq(symbol.start, site);
	symbol = resolve(first_called(library, "caller_of_chosen"));
	ck_assert_str_eq(symbol.name, "chosen@plt");
	library = load("stripped.so");
	site = first_called(library, "caller_of_chosen");
	symbol = resolve(site);
	ck_assert_str_eq(symbol.name, "chosen@plt");
	ck_assert_uint_eq(symbol.start, site);
	/* No symbol near it may be used. */
	symbol = resolve(first_called(library, "caller_of_hidden"));
	ck_assert_ptr_nonnull(strstr(symbol.name, "stripped.so+0x"));
}
END_TEST

/* If the file is removed or replaced, its exported functions are still in memory. */
START_TEST(file_is_gone_or_another)
{
	static const char *const fates[] = {
		"rm lib.so",
		"rm lib.so && mkdir lib.so",
		"sed s/hidden_one/other_one/ lib.c >other.c && "
		"cc -O0 -fPIC -shared -Wl,--build-id=sha1 -o other.so other.c && mv other.so "
		"lib.so",
		"mv lib.so away && : >lib.so",
	};
	void *library = load("lib.so");

	ck_assert_int_eq(shell("%s", fates[_i]), 0);
	expect_place(library, "lib.so");
}
END_TEST

/* Another user has put a file with the same build-id where the library's file was, in a directory below /tmp. */
START_TEST(file_is_of_another_user)
{
	void *library = load("lib.so");

	if (shell("sed s/hidden_one/secret_one/g lib.so >other.so && chown 12345 other.so && "
		  "mv other.so lib.so"))
		return; /* only root can do that */
	expect_place(library, "lib.so");
	ck_assert_int_eq(shell("chown 0 lib.so"), 0);
	expect((uintptr_t)call(library, "address_of_hidden") + 2, "secret_one", "lib.so");
}
END_TEST

START_TEST(file_is_gone_and_had_no_build_id)
{
	void *library;

	ck_assert_int_eq(shell("cc -O1 -fPIC -shared -Wl,--build-id=none -o lib.so lib.c"), 0);
	library = load("lib.so");
	ck_assert_int_eq(shell("sed s/hidden_one/other_one/ lib.c >other.c && cc -O0 -fPIC -shared "
			       "-Wl,--build-id=none -o other.so other.c && mv other.so lib.so"),
			 0);
	expect_place(library, "lib.so");
}
END_TEST

START_TEST(library_is_closed)
{
	void *library = load("lib.so");
	uintptr_t pc = (uintptr_t)call(library, "address_of_hidden") + 1;

	ck_assert_int_eq(dlclose(library), 0);
	ck_assert_int_ge(modules_refresh(), 0);
	expect(pc, "hidden_one", "lib.so");
}
END_TEST

START_TEST(cpp_and_rust_types)
{
	void *library;
	struct symbol symbol;

	ck_assert_int_eq(shell("printf '%%s\\n' 'namespace shop { int price(int a)' "
			       "'{ return a + 1; } }' 'extern \"C\" void *price_address() "
			       "{ return (void *)shop::price; }' >s.cc && "
			       "c++ -O1 -fPIC -shared -o cpp.so s.cc"),
			 0);
	library = load("cpp.so");
	symbol = resolve((uintptr_t)call(library, "price_address"));
	ck_assert_str_eq(symbol.name, "shop::price");
	ck_assert_int_eq(symbol.type, JFR_FRAME_CPP);
	symbol = resolve((uintptr_t)dlsym(library, "price_address"));
	ck_assert_int_eq(symbol.type, JFR_FRAME_NATIVE);
}
END_TEST

static __attribute__((noinline)) int own_function(int a)
{
	return a * 5 + (int)getpid();
}

START_TEST(own_executable_and_libc)
{
	static const char *const functions[] = { "write",  "malloc", "free",   "qsort",
						 "printf", "getenv", "strtol", "pthread_create" };

	ck_assert_int_eq(modules_open(), 0);
	expect((uintptr_t)own_function + 1, "own_function", "symbols");
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		uintptr_t address = (uintptr_t)dlsym(RTLD_DEFAULT, functions[i]);
		struct symbol symbol = resolve(address + 1);

		ck_assert_uint_eq(symbol.start, address);
		if (strncmp(symbol.module, "libc.so", 7) == 0) /* else from a sanitizer */
			ck_assert_ptr_nonnull(strstr(symbol.name, functions[i]));
	}
}
END_TEST

static struct {
	int first, second;
} a_variable;

START_TEST(variables)
{
	int on_stack;
	char name[64];

	ck_assert_int_eq(modules_open(), 0);
	a_variable.second = 1;
	ck_assert_int_eq(symbols_variable(symbols, (uintptr_t)&a_variable, name, sizeof(name)), 0);
	ck_assert_str_eq(name, "a_variable");
	ck_assert_int_eq(
		symbols_variable(symbols, (uintptr_t)&a_variable.second, name, sizeof(name)), 0);
	ck_assert_str_eq(name, "a_variable+0x4");
	ck_assert_int_eq(symbols_variable(symbols, (uintptr_t)&on_stack, name, sizeof(name)),
			 -ENOENT);
	ck_assert_int_eq(symbols_variable(symbols, (uintptr_t)symbols_variable, name, sizeof(name)),
			 -ENOENT);
	ck_assert_int_eq(symbols_variable(symbols, 0x10, name, sizeof(name)), -ENOENT);
}
END_TEST

START_TEST(vdso)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct symbol symbol;
	Elf64_Sym *table = NULL;
	const char *strings = NULL;
	Elf64_Shdr *sections;

	if (!header)
		return;
	sections = (Elf64_Shdr *)((char *)header + header->e_shoff);
	for (size_t i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_DYNSYM)
			continue;
		table = (Elf64_Sym *)((char *)header + sections[i].sh_offset);
		strings = (char *)header + sections[sections[i].sh_link].sh_offset;
	}
	ck_assert_ptr_nonnull(table);
	while (ELF64_ST_TYPE(table->st_info) != STT_FUNC || !table->st_size)
		table++;
	ck_assert_int_eq(modules_open(), 0);
	symbol = resolve((uintptr_t)header + table->st_value + table->st_size - 1);
	ck_assert_str_eq(symbol.module, "vdso");
	ck_assert_uint_eq(symbol.start, (uintptr_t)header + table->st_value);
	ck_assert_ptr_nonnull(strstr(strings + table->st_name, symbol.name));
}
END_TEST

struct named {
	char name[64];
};

static int keep_name(void *context, const struct symbol_match *match, const char *text,
		     const char *suffix)
{
	struct named *named = context;

	(void)match;
	snprintf(named->name, sizeof(named->name), "%s%s", text, suffix);
	return 0;
}

/* Without section headers, as an emulator may map it, and with headers beyond its end. */
START_TEST(vdso_without_sections)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct module module = { .path = "[vdso]" };
	struct symbol_match match = { 0 };
	struct named named = { "" };
	struct elf *elf;
	Elf64_Ehdr *copy;
	Elf64_Sym symbol;

	if (!header)
		return;
	copy = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(copy, MAP_FAILED);
	memcpy(copy, header, header->e_shoff);
	module.bias = (uintptr_t)copy;
	copy->e_shoff = 0;
	copy->e_shnum = 0;
	ck_assert_int_eq(elf_open_image(&elf, (uintptr_t)copy, 1 << 16), 0);
	ck_assert_int_eq(image_symbol(elf, "__vdso_getcpu", &symbol), 0);
	elf_close(elf);
	match.address = symbol.st_value;
	ck_assert_int_eq(module_symbols_match(&module, &match, 1, keep_name, NULL, &named), 0);
	ck_assert_ptr_nonnull(strstr(named.name, "getcpu"));

	copy->e_shoff = 1 << 17;
	copy->e_shnum = 20;
	match = (struct symbol_match){ .address = symbol.st_value };
	ck_assert_int_eq(module_symbols_match(&module, &match, 1, keep_name, NULL, &named), 0);
	ck_assert(!match.found);
	ck_assert_int_eq(munmap(copy, 1 << 16), 0);
}
END_TEST

START_TEST(unknown_addresses_are_hexadecimal)
{
	uintptr_t pcs[] = { 0, 1, 0x1234, UINTPTR_MAX, (uintptr_t)&pcs };
	struct symbol out[5];

	ck_assert_int_eq(modules_open(), 0);
	ck_assert_int_eq(symbols_resolve(symbols, pcs, 5, out), 0);
	ck_assert_str_eq(out[0].name, "0x0");
	ck_assert_str_eq(out[2].name, "0x1234");
	ck_assert_str_eq(out[3].name, "0xffffffffffffffff");
	for (int i = 0; i < 5; i++) {
		ck_assert_str_eq(out[i].module, "");
		ck_assert_int_eq(out[i].type, JFR_FRAME_NATIVE);
		ck_assert_uint_eq(out[i].start, pcs[i]);
	}
	ck_assert_int_eq(symbols_resolve(symbols, NULL, 0, NULL), 0);
}
END_TEST

START_TEST(code_made_at_run_time)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t pc = (uintptr_t)code + 100;
	char path[64];
	struct symbol symbol;
	FILE *file;

	ck_assert_int_eq(modules_open(), 0);
	ck_assert_str_eq(resolve(pc).module, "");
	perf_list_path(path, sizeof(path));
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "%zx 100 JS:*hot file.js:1:2\n", (size_t)code);
	fflush(file);
	symbol = resolve(pc);
	ck_assert_str_eq(symbol.name, "JS:*hot file.js:1:2");
	ck_assert_str_eq(symbol.module, "jit");
	ck_assert_int_eq(symbol.type, JFR_FRAME_JIT);
	ck_assert_uint_eq(symbol.start, (uintptr_t)code);
	symbols_release(symbols);
	fprintf(file, "%zx 100 JS:*another\n", (size_t)code);
	fclose(file);
	ck_assert_str_eq(resolve(pc).name, "JS:*another");
	unlink(path);
	/* Entries that were read stay valid. */
	ck_assert_str_eq(resolve(pc).name, "JS:*another");
}
END_TEST

/* A batch, unsorted and with duplicates, has the same results as single addresses, also from the cache. */
START_TEST(batches_and_chunks_agree)
{
	enum { COUNT = 6000 };
	static uintptr_t pcs[COUNT];
	static struct symbol out[COUNT];
	uintptr_t libc = (uintptr_t)dlsym(RTLD_DEFAULT, "write");
	void *library = load("lib.so");
	struct symbol one;

	for (size_t i = 0; i < COUNT; i++)
		pcs[i] = libc + (i * 7919 % COUNT) * 16 - COUNT * 8;
	pcs[10] = pcs[20] = (uintptr_t)call(library, "address_of_hidden") + 1;
	pcs[30] = 0x30;
	for (int chunk = 0; chunk < 3; chunk++) {
		ck_assert_int_eq(symbols_resolve(symbols, pcs, COUNT, out), 0);
		ck_assert_str_eq(out[10].name, "hidden_one");
		ck_assert_ptr_eq(out[10].name, out[20].name);
		ck_assert_str_eq(out[30].name, "0x30");
		for (size_t i = 0; i < COUNT; i += 97) {
			struct symbols *fresh;

			ck_assert_int_eq(symbols_open(&fresh), 0);
			ck_assert_int_eq(symbols_resolve(fresh, &pcs[i], 1, &one), 0);
			ck_assert_str_eq(one.name, out[i].name);
			ck_assert_str_eq(one.module, out[i].module);
			ck_assert_int_eq(one.type, out[i].type);
			ck_assert_uint_eq(one.start, out[i].start);
			symbols_close(fresh);
		}
		symbols_release(symbols);
	}
}
END_TEST

START_TEST(return_address_is_of_the_call)
{
	void *library = load("lib.so");
	uintptr_t end, pc = (uintptr_t)dlsym(library, "exported_one");

	for (end = pc; resolve(end).start == pc; end++)
		;
	/* A call as the last instruction has a return address outside the function. */
	ck_assert_str_ne(resolve(end).name, "exported_one");
	ck_assert_str_eq(resolve(symbols_call_site(end)).name, "exported_one");
}
END_TEST

int main(void)
{
	TCase *tcase;

	if (system("for i in cc c++ strip objcopy readelf xz; do "
		   "command -v $i >/dev/null || exit 1; done")) {
		puts("cc, c++, xz or binutils are not installed");
		return 77;
	}
	tcase = tcase_create("all");
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, own_symbol_table);
	tcase_add_test(tcase, dynamic_symbols_alone);
	tcase_add_test(tcase, unwind_entries_alone);
	tcase_add_loop_test(tcase, debug_link, 0, 2);
	tcase_add_loop_test(tcase, debug_link_without_build_id, 0, 2);
	tcase_add_test(tcase, debug_link_to_another_build);
	tcase_add_test(tcase, debug_file_by_build_id);
	tcase_add_loop_test(tcase, packed_symbols, 0, 2);
	tcase_add_loop_test(tcase, packed_symbols_spoilt, 0, 5);
	tcase_add_loop_test(tcase, stub_of_the_plt, 0, 3);
	tcase_add_test(tcase, stub_of_a_symbol_without_a_name);
	tcase_add_loop_test(tcase, stub_of_a_function_that_is_chosen, 0, 3);
	tcase_add_loop_test(tcase, file_is_gone_or_another, 0, 4);
	tcase_add_test(tcase, file_is_of_another_user);
	tcase_add_test(tcase, file_is_gone_and_had_no_build_id);
	tcase_add_test(tcase, library_is_closed);
	tcase_add_test(tcase, cpp_and_rust_types);
	tcase_add_test(tcase, own_executable_and_libc);
	tcase_add_test(tcase, variables);
	tcase_add_test(tcase, vdso);
	tcase_add_test(tcase, vdso_without_sections);
	tcase_add_test(tcase, unknown_addresses_are_hexadecimal);
	tcase_add_test(tcase, code_made_at_run_time);
	tcase_add_test(tcase, batches_and_chunks_agree);
	tcase_add_test(tcase, return_address_is_of_the_call);
	return suite_run(tcase);
}
