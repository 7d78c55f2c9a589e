/* Symbols of one module from all its sources, the best source first. */
#include "engine/symbols/module_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "engine/reading/process_memory.h"
#include "engine/symbols/debug_file.h"
#include "engine/elf/elf_identity.h"
#include "engine/runtime/go/go_functions.h"
#include "engine/elf/image_symbols.h"
#include "engine/symbols/plt.h"
#include "engine/symbols/unwind_entries.h"

/* Longer symbols are cut. */
#define TEXT_BYTES 8192

/* No C library has longer entry code. */
#define ENTRY_BYTES 64

/* The vDSO has two pages or a few more. */
#define VDSO_MAX (256 * 1024)

struct search {
	const struct module *module;
	struct mapped_file mapped;
	struct symbol_match *matches;
	size_t count;
	module_symbols_named named;
	module_symbols_inlined inlined;
	void *context;
	char *text; /* TEXT_BYTES in size */
};

static bool search_is_complete(const struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		if (!search->matches[i].found)
			return false;
	return true;
}

/* Remove a symbol version ("memcpy@@GLIBC_2.14"), which does not help the reader of a profile. */
static void cut_version(char *text)
{
	char *at = strchr(text, '@');

	if (at && at != text)
		*at = '\0';
}

/* Report the names of the new answers from ELF; adjacent matches often share a name. */
static int search_report_names(struct search *search, struct elf *elf, const Elf64_Shdr *strings)
{
	uint32_t last = 0;
	int err = 0, n;

	for (size_t i = 0; i < search->count && !err; i++) {
		struct symbol_match *match = &search->matches[i];

		if (!match->found || match->is_named)
			continue;
		if (match->name != last) {
			n = elf_string(elf, strings, match->name, search->text, TEXT_BYTES);
			if (n <= 0) { /* the name is outside the table: treat it as missing */
				match->found = false;
				continue;
			}
			cut_version(search->text);
			last = match->name;
		}
		match->is_named = true;
		err = search->named(search->context, match, search->text,
				    match->is_plt ? "@plt" : "");
	}
	return err;
}

/* Only an error that does not concern one file ends the search. */
static int is_fatal(int err)
{
	return err == -ENOMEM ? err : 0;
}

static int search_tables(struct search *search, struct elf *elf, const Elf64_Shdr *table,
			 const Elf64_Shdr *strings)
{
	int err;

	if (!table || !strings)
		return 0;
	err = symbol_table_match(elf, table, strings, search->matches, search->count);
	return err ? is_fatal(err) : search_report_names(search, elf, strings);
}

static int search_section(struct search *search, struct elf *elf, uint32_t type)
{
	const Elf64_Shdr *table = elf_find_section_type(elf, type);

	if (!table || table->sh_type == SHT_NOBITS)
		return 0;
	return search_tables(search, elf, table, elf_section(elf, table->sh_link));
}

static bool has_symbols(const struct elf *elf)
{
	return elf_find_section_type(elf, SHT_SYMTAB) != NULL;
}

static int search_separate(struct search *search, struct elf *file)
{
	struct elf *elf;
	int err = debug_file_open_separate(&elf, file, search->module->path, DEBUG_FILE_ROOT);

	if (err)
		return is_fatal(err);
	err = search_section(search, elf, SHT_SYMTAB);
	elf_close(elf);
	return err;
}

static int search_debug_data(struct search *search, struct elf *file)
{
	struct elf *elf;
	int err = debug_file_unpack(&elf, file);

	if (err)
		return is_fatal(err);
	err = search_section(search, elf, SHT_SYMTAB);
	elf_close(elf);
	return err;
}

static int search_dynamic(struct search *search, struct elf *file)
{
	return search_section(search, file, SHT_DYNSYM);
}

/* Stubs of functions that are selected at load time (STT_GNU_IFUNC). Programs do not export theirs. */
static int search_resolvers(struct search *search, struct elf *file, uint32_t type)
{
	const Elf64_Shdr *table = elf_find_section_type(file, type);
	const Elf64_Shdr *strings = table ? elf_section(file, table->sh_link) : NULL;
	int err;

	if (!strings)
		return 0;
	err = plt_match_resolvers(file, table, strings, search->matches, search->count);
	return err ? is_fatal(err) : search_report_names(search, file, strings);
}

static int search_stubs(struct search *search, struct elf *file)
{
	const Elf64_Shdr *strings;
	int err = plt_match(file, search->matches, search->count, &strings);

	err = err ? is_fatal(err) : search_report_names(search, file, strings);
	if (!err)
		err = search_resolvers(search, file, SHT_SYMTAB);
	if (!err)
		err = search_resolvers(search, file, SHT_DYNSYM);
	return err;
}

/* Programs without symbols still have an entry point, where stacks begin. */
static int search_entry(struct search *search, struct elf *file)
{
	uint64_t entry = elf_header(file)->e_entry;
	int err = 0;

	if (search->module->bias + entry != getauxval(AT_ENTRY))
		return 0;
	for (size_t i = 0; i < search->count && !err; i++) {
		struct symbol_match *match = &search->matches[i];

		if (match->found || match->address - entry >= ENTRY_BYTES)
			continue;
		match->found = match->is_named = true;
		match->start = entry;
		err = search->named(search->context, match, "_start", "");
	}
	return err;
}

static int read_loaded(void *context, uint64_t address, void *data, size_t size)
{
	const struct search *search = context;

	return process_memory_read(search->module->bias + address, data, size);
}

/* Report the Go function that contains MATCH, unless a symbol has named it, and the functions inlined there. */
static int search_report_go(struct search *search, struct go_functions *functions,
			    struct symbol_match *match)
{
	struct go_function function;
	size_t number;
	int err = 0;

	if (go_functions_find(functions, match->address, &number) ||
	    go_functions_get(functions, number, &function))
		return 0;
	if (!match->found &&
	    go_functions_name(functions, &function, search->text, TEXT_BYTES) > 0) {
		match->found = match->is_named = true;
		match->start = function.start;
		err = search->named(search->context, match, search->text, "");
	}
	if (err || !search->inlined || !match->found ||
	    go_functions_inlined(functions, &function, match->address, search->text, TEXT_BYTES) <=
		    0)
		return err;
	return search->inlined(search->context, match, search->text);
}

/* Go has its own table of names, which strip tools keep. */
static int search_go(struct search *search, struct elf *file)
{
	go_memory *loaded = search->mapped.mapped ? read_loaded : NULL;
	uint64_t bias = loaded ? search->module->bias : 0;
	struct go_functions *functions;
	int err = go_functions_open(&functions, file, loaded, search, bias);

	if (err)
		return is_fatal(err);
	if (search->inlined)
		go_functions_find_inlined(functions, loaded, search, bias);
	for (size_t i = 0; i < search->count && !err; i++)
		err = search_report_go(search, functions, &search->matches[i]);
	go_functions_close(functions);
	return err;
}

/* The last source: it gives no names, but all addresses of a function get one place. */
static int search_entries(struct search *search, struct elf *file)
{
	unwind_entries_match(file, search->matches, search->count);
	return 0;
}

static int search_file(struct search *search, struct elf *file)
{
	int (*const sources[])(struct search *, struct elf *) = {
		search_separate, search_debug_data, search_dynamic,
		search_stubs,    search_entry,      search_entries,
	};
	int err = search_section(search, file, SHT_SYMTAB);

	/* Also if all have names: no other source knows what is inlined. */
	if (!err)
		err = search_go(search, file);
	/* With a full symbol table the first two are not needed, but it has no stubs. */
	for (size_t i = has_symbols(file) ? 2 : 0; i < sizeof(sources) / sizeof(*sources); i++) {
		if (err || search_is_complete(search))
			break;
		err = sources[i](search, file);
	}
	return err;
}

static int search_image(struct search *search)
{
	Elf64_Shdr table, strings;
	struct elf *elf;
	int err = debug_file_open_image(&elf, &search->mapped);

	if (err)
		return is_fatal(err);
	if (!image_symbols(elf, &table, &strings))
		err = search_tables(search, elf, &table, &strings);
	search_entries(search, elf);
	elf_close(elf);
	return err;
}

/* Whether the vDSO of this process serves for an exited one: it does if the kernel is the same. */
static bool vdso_is_same(const struct module *module, struct elf *elf)
{
	uint8_t id[ELF_BUILD_ID_MAX];

	return !module->unloaded_ticks ||
	       (module->build_id_size && elf_build_id(elf, id) == (int)module->build_id_size &&
		!memcmp(id, module->build_id, module->build_id_size));
}

/* The vDSO is a whole file in memory. The section headers are at its end, so they give its size. */
static int search_vdso(struct search *search)
{
	uintptr_t start =
		search->module->unloaded_ticks ? getauxval(AT_SYSINFO_EHDR) : search->module->bias;
	struct elf *elf = NULL;
	void *copy = NULL;
	Elf64_Ehdr header;
	size_t size;
	int err;

	err = process_memory_read(start, &header, sizeof(header));
	if (err || header.e_shoff > VDSO_MAX)
		return 0;
	if (!header.e_shoff)
		return search_image(search);
	size = (size_t)header.e_shoff + (size_t)header.e_shnum * sizeof(Elf64_Shdr);
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	err = process_memory_read(start, copy, size);
	if (!err)
		err = elf_open_buffer(&elf, copy, size);
	if (!err && vdso_is_same(search->module, elf))
		err = search_dynamic(search, elf);
	if (elf)
		search_entries(search, elf);
	elf_close(elf);
	free(copy);
	return is_fatal(err);
}

static int search_all(struct search *search)
{
	struct elf *file;
	int err;

	if (search->module->path[0] == '[')
		return search_vdso(search);
	err = debug_file_open(&file, &search->mapped);
	if (err)
		return search_image(search);
	err = search_file(search, file);
	elf_close(file);
	return err;
}

int module_symbols_match(const struct module *module, struct symbol_match *matches, size_t count,
			 module_symbols_named named, module_symbols_inlined inlined, void *context)
{
	struct search search = {
		.module = module,
		.mapped = { .path = module->path,
			    .build_id = module->build_id,
			    .build_id_size = module->build_id_size,
			    .bias = module->bias,
			    .mapped = !module->unloaded_ticks },
		.matches = matches,
		.count = count,
		.named = named,
		.inlined = inlined,
		.context = context,
		.text = malloc(TEXT_BYTES),
	};
	int err;

	if (!search.text)
		return -ENOMEM;
	err = search_all(&search);
	free(search.text);
	return err;
}
