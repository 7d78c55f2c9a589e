/* Search for Ruby in this process: in its executable, or in libruby. */
#include "engine/runtime/ruby/ruby_find.h"

#include <errno.h>

#include "arch/arch.h"
#include "core/log.h"
#include "engine/elf/image_symbols.h"
#include "engine/reading/process_memory.h"

/* Limit of the searched thread-local storage, if no symbol gives the offset: libruby has three
 * words there, and the C library of a static executable has more. */
#define TLS_BYTES_MAX 256

/* The loader gives this number to the program. */
#define FIRST_MODULE 1

#define DYNAMIC_MAX         256
#define RELOCATIONS_MAX     (1u << 20)
#define RELOCATIONS_AT_ONCE 64

static int find_version(uint16_t *version, struct elf *image, uintptr_t bias)
{
	Elf64_Sym symbol;
	int32_t parts[3];
	int err = image_symbol(image, "ruby_api_version", &symbol);

	if (!err)
		err = process_memory_read(bias + symbol.st_value, parts, sizeof(parts));
	if (!err)
		*version = (uint16_t)(parts[0] << 8 | (parts[1] & 255));
	return err;
}

/* ---- Thread-local storage ---- */

static int find_relocations(struct elf *image, uintptr_t bias, uintptr_t *at, uint64_t *bytes)
{
	const Elf64_Phdr *segment = elf_find_segment(image, PT_DYNAMIC);
	Elf64_Dyn entry = { 0 };
	int err = segment ? 0 : -ENOENT;

	*at = 0;
	*bytes = 0;
	for (size_t i = 0; i < DYNAMIC_MAX && !err; i++) {
		err = elf_read_address(image, segment->p_vaddr + i * sizeof(entry), &entry,
				       sizeof(entry));
		if (err || entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_RELA)
			*at = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_RELASZ)
			*bytes = entry.d_un.d_val;
	}
	/* Some loaders store the relocated address there. */
	if (*at < bias)
		*at += bias;
	return err;
}

/* Read the module number that the loader stored; the program's number if it stored none. */
static int find_module_number(uint32_t *number, struct elf *image, uintptr_t bias)
{
	Elf64_Rela relocations[RELOCATIONS_AT_ONCE];
	uint64_t bytes, value;
	uintptr_t at;
	size_t part;
	int err = find_relocations(image, bias, &at, &bytes);

	if (bytes > RELOCATIONS_MAX * sizeof(*relocations))
		return -ENOTSUP;
	for (uint64_t done = 0; !err && done < bytes; done += part) {
		part = bytes - done < sizeof(relocations) ? (size_t)(bytes - done)
							  : sizeof(relocations);
		err = process_memory_read(at + done, relocations, part);
		for (size_t i = 0; !err && i < part / sizeof(*relocations); i++) {
			if (ELF64_R_TYPE(relocations[i].r_info) != ARCH_R_TLS_MODULE)
				continue;
			err = process_memory_read(bias + relocations[i].r_offset, &value,
						  sizeof(value));
			*number = (uint32_t)value;
			return err;
		}
	}
	*number = FIRST_MODULE;
	return err;
}

/* Find the thread-local variable that holds the execution context. */
static int find_variable(struct ruby *ruby, struct elf *image, uintptr_t bias)
{
	const Elf64_Phdr *segment = elf_find_segment(image, PT_TLS);
	Elf64_Sym symbol;

	if (!segment)
		return -ENOTSUP;
	ruby->tls_end =
		(uint32_t)(segment->p_memsz < TLS_BYTES_MAX ? segment->p_memsz : TLS_BYTES_MAX);
	if (!image_symbol(image, "ruby_current_ec", &symbol) &&
	    ELF64_ST_TYPE(symbol.st_info) == STT_TLS) {
		ruby->tls_first = (uint32_t)symbol.st_value;
		ruby->tls_end = ruby->tls_first + (uint32_t)sizeof(uintptr_t);
	}
	return find_module_number(&ruby->tls_module, image, bias);
}

/* ---- Complete search ---- */

static uintptr_t symbol_address(struct elf *image, uintptr_t bias, const char *name)
{
	Elf64_Sym symbol;

	return image_symbol(image, name, &symbol) ? 0 : bias + symbol.st_value;
}

static void find_data(struct ruby *ruby, struct elf *image, uintptr_t bias)
{
	for (size_t i = 0; i < elf_segment_count(image); i++) {
		const Elf64_Phdr *segment = elf_segment(image, i);

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_W) {
			ruby->data = bias + segment->p_vaddr;
			ruby->data_bytes = (uint32_t)segment->p_memsz;
		}
	}
}

int ruby_find(struct ruby *ruby, struct elf *image, const struct module *module)
{
	const struct ruby_layout *layout;
	uint16_t version = 0;
	int err = find_version(&version, image, module->bias);

	if (err)
		return err;
	layout = ruby_layout_known(version);
	if (!layout)
		return -ENOTSUP;
	ruby->layout = *layout;
	ruby->base = (struct runtime){
		.kind = RUNTIME_RUBY,
		.text = module->start,
		.text_end = module->end,
		.has_jit = true,
	};
	ruby->machine = symbol_address(image, module->bias, "ruby_current_vm_ptr");
	err = find_variable(ruby, image, module->bias);
	if (err)
		return err;
	ruby_find_evaluator(ruby, image, module->bias);
	if (!ruby->base.evaluator)
		return -ENOTSUP;
	find_data(ruby, image, module->bias);
	ruby->counts = symbol_address(image, module->bias, "rb_gc_count");
	ruby_find_more(ruby);
	return 0;
}

/* Most facts are available soon after the start of Ruby, or never. A search scans all variables of
 * the module, so it becomes rare after that time. */
#define VISITS_SOON     30 /* in quick succession, since a program may end soon */
#define VISITS_AT_FIRST 70
#define VISITS_BETWEEN  64

static bool search_is_due(uint32_t visit)
{
	return visit < VISITS_AT_FIRST || !(visit % VISITS_BETWEEN);
}

bool ruby_is_beginning(const struct ruby *ruby)
{
	return !ruby->names && ruby->visits < VISITS_SOON;
}

bool ruby_find_more(struct ruby *ruby)
{
	bool names, collections;

	if ((ruby->names && ruby->collections) || !search_is_due(ruby->visits++))
		return false;
	names = !ruby->names && ruby_find_names(ruby, ruby->data, ruby->data_bytes);
	collections = !ruby->collections && ruby_find_collections(ruby);

	return names || collections;
}
