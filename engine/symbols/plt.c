/* Names for PLT stubs, through which a module calls functions of other modules. */
#include "engine/symbols/plt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/code.h"

/* Stubs have 16 bytes; the first one of .plt, which calls the loader, has 16 or 32. */
#define STUB_BYTES 16

#define BLOCK_RELOCATIONS 512

/* A stub that contains a match. */
struct stub {
	struct symbol_match *match;
	uint64_t start;
	struct arch_stub code;
};

static bool section_has(const Elf64_Shdr *section, uint64_t address)
{
	return section && address >= section->sh_addr &&
	       address - section->sh_addr < section->sh_size;
}

/* Find and decode the stub at the address of MATCH; returns false if there is none. */
static bool stub_find(struct elf *elf, const Elf64_Shdr *const *sections, size_t count,
		      struct symbol_match *match, struct stub *stub)
{
	uint8_t code[STUB_BYTES];

	for (size_t i = 0; i < count; i++) {
		uint64_t stub_bytes = STUB_BYTES;

		if (!section_has(sections[i], match->address))
			continue;
		if (sections[i]->sh_entsize == 8) /* .plt.got without endbr64 */
			stub_bytes = 8;
		memset(stub, 0, sizeof(*stub));
		memset(code, 0, sizeof(code));
		stub->match = match;
		stub->start = match->address - (match->address - sections[i]->sh_addr) % stub_bytes;
		return !elf_read_address(elf, stub->start, code, (size_t)stub_bytes) &&
		       arch_read_stub(&stub->code, code, stub->start);
	}
	return false;
}

/* Assign the symbol or the resolver of its relocation to each stub. */
static int stubs_set_names(struct elf *elf, const Elf64_Shdr *symbols,
			   const Elf64_Rela *relocations, size_t count, uint64_t first,
			   struct stub *stubs, size_t stub_count)
{
	Elf64_Sym symbol;
	uint64_t index;
	int err;

	for (size_t r = 0; r < count; r++) {
		for (size_t s = 0; s < stub_count; s++) {
			struct symbol_match *match = stubs[s].match;

			if (match->found ||
			    (stubs[s].code.has_number
				     ? stubs[s].code.number != first + r
				     : stubs[s].code.slot != relocations[r].r_offset))
				continue;
			if (ELF64_R_TYPE(relocations[r].r_info) == ARCH_R_CHOSEN) {
				match->resolver = (uint64_t)relocations[r].r_addend;
				match->start = stubs[s].start;
			}
			index = ELF64_R_SYM(relocations[r].r_info);
			if (!index || index >= symbols->sh_size / sizeof(symbol))
				continue;
			err = elf_read(elf, symbols->sh_offset + index * sizeof(symbol), &symbol,
				       sizeof(symbol));
			if (err)
				return err;
			if (!symbol.st_name)
				continue;
			match->found = match->is_plt = true;
			match->start = stubs[s].start;
			match->name = symbol.st_name;
		}
	}
	return 0;
}

static int read_relocations(struct elf *elf, const Elf64_Shdr *section, const Elf64_Shdr *symbols,
			    struct stub *stubs, size_t stub_count)
{
	uint64_t total = section->sh_size / sizeof(Elf64_Rela);
	Elf64_Rela *block;
	int err = 0;

	if (section->sh_type != SHT_RELA || section->sh_entsize != sizeof(Elf64_Rela))
		return 0;
	block = malloc(BLOCK_RELOCATIONS * sizeof(*block));
	if (!block)
		return -ENOMEM;
	for (uint64_t at = 0; at < total && !err; at += BLOCK_RELOCATIONS) {
		size_t n =
			total - at < BLOCK_RELOCATIONS ? (size_t)(total - at) : BLOCK_RELOCATIONS;

		err = elf_read(elf, section->sh_offset + at * sizeof(*block), block,
			       n * sizeof(*block));
		if (!err)
			err = stubs_set_names(elf, symbols, block, n, at, stubs, stub_count);
	}
	free(block);
	return err;
}

/* Relocation numbers refer to .rela.plt only. */
static bool needs_other_relocations(const struct stub *stubs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!stubs[i].match->found && !stubs[i].match->resolver &&
		    !stubs[i].code.has_number)
			return true;
	return false;
}

static int stubs_resolve(struct elf *elf, const Elf64_Shdr *symbols, struct stub *stubs,
			 size_t count)
{
	const Elf64_Shdr *plt = elf_find_section(elf, ".rela.plt");
	const Elf64_Shdr *other = elf_find_section(elf, ".rela.dyn");
	int err = 0;

	if (plt)
		err = read_relocations(elf, plt, symbols, stubs, count);
	if (!err && other && needs_other_relocations(stubs, count)) {
		size_t left = 0;

		for (size_t i = 0; i < count; i++)
			if (!stubs[i].code.has_number)
				stubs[left++] = stubs[i];
		err = read_relocations(elf, other, symbols, stubs, left);
	}
	return err;
}

int plt_match(struct elf *elf, struct symbol_match *matches, size_t count,
	      const Elf64_Shdr **strings)
{
	const Elf64_Shdr *const sections[] = { elf_find_section(elf, ".plt"),
					       elf_find_section(elf, ".plt.sec"),
					       elf_find_section(elf, ".plt.got"),
					       elf_find_section(elf, ".iplt") };
	const size_t section_count = sizeof(sections) / sizeof(sections[0]);
	const Elf64_Shdr *symbols = elf_find_section_type(elf, SHT_DYNSYM);
	size_t stub_count = 0, capacity = 0;
	struct stub *stubs;
	int err = 0;

	if (!symbols || !(*strings = elf_section(elf, symbols->sh_link)))
		return -ENOENT;
	for (size_t i = 0; i < count; i++)
		for (size_t s = 0; s < section_count && !matches[i].found; s++)
			capacity += section_has(sections[s], matches[i].address);
	if (!capacity)
		return 0;
	stubs = calloc(capacity, sizeof(*stubs));
	if (!stubs)
		return -ENOMEM;
	for (size_t i = 0; i < count && stub_count < capacity; i++)
		if (!matches[i].found &&
		    stub_find(elf, sections, section_count, &matches[i], &stubs[stub_count]))
			stub_count++;
	if (stub_count)
		err = stubs_resolve(elf, symbols, stubs, stub_count);
	free(stubs);
	return err;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct symbol_match *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

/* The resolvers that MATCHES need, sorted; allocated with malloc. */
static struct symbol_match *list_resolvers(const struct symbol_match *matches, size_t count,
					   size_t *listed)
{
	struct symbol_match *resolvers = calloc(count, sizeof(*resolvers));

	*listed = 0;
	for (size_t i = 0; resolvers && i < count; i++)
		if (matches[i].resolver && !matches[i].found)
			resolvers[(*listed)++].address = matches[i].resolver;
	if (*listed)
		qsort(resolvers, *listed, sizeof(*resolvers), compare_addresses);
	return resolvers;
}

int plt_match_resolvers(struct elf *elf, const Elf64_Shdr *table, const Elf64_Shdr *strings,
			struct symbol_match *matches, size_t count)
{
	size_t listed;
	struct symbol_match *resolvers = list_resolvers(matches, count, &listed);
	int err = resolvers ? 0 : -ENOMEM;

	if (listed)
		err = symbol_table_match(elf, table, strings, resolvers, listed);
	for (size_t i = 0; listed && i < count && !err; i++) {
		const struct symbol_match wanted = { .address = matches[i].resolver }, *answer;

		if (!matches[i].resolver || matches[i].found)
			continue;
		answer = bsearch(&wanted, resolvers, listed, sizeof(*resolvers), compare_addresses);
		matches[i].found = matches[i].is_plt =
			answer->found && answer->start == wanted.address;
		matches[i].name = answer->name;
	}
	free(resolvers);
	return err;
}
