/* Resolves a batch of addresses in one pass over a symbol table. */
#include "engine/symbols/symbol_table.h"

#include <string.h>

/* Assembler functions without sizes are short. Code farther from its label belongs to a stripped symbol. */
#define UNSIZED_REACH 65536

enum { RANK_NOT_LOCAL = 1, RANK_FUNCTION = 2, RANK_SIZED = 4 };

struct pass {
	struct elf *elf;
	const Elf64_Shdr *strings;
	struct symbol_match *matches;
	size_t count;
	/* Result of the last comparison of two aliases: all addresses in one function repeat it. */
	uint32_t winner, loser;
};

static int underscores(const char *name)
{
	int n = 0;

	if (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R'))
		return 0; /* mangled */
	while (name[n] == '_')
		n++;
	return n;
}

static bool candidate_has_better_name(struct pass *pass, const struct symbol_candidate *a,
				      const struct symbol_candidate *b)
{
	char name_a[160], name_b[160];
	int length_a, length_b;

	length_a = elf_string(pass->elf, pass->strings, a->name, name_a, sizeof(name_a));
	length_b = elf_string(pass->elf, pass->strings, b->name, name_b, sizeof(name_b));
	if (length_a <= 0 || length_b <= 0)
		return length_a > 0;
	if (underscores(name_a) != underscores(name_b))
		return underscores(name_a) < underscores(name_b);
	if (a->global != b->global)
		return a->global;
	if (length_a != length_b)
		return length_a < length_b;
	return strcmp(name_a, name_b) < 0;
}

static bool candidate_is_better(struct pass *pass, const struct symbol_candidate *a,
				const struct symbol_candidate *b)
{
	bool first;

	if (!b->set || a->start != b->start)
		return !b->set || a->start > b->start;
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->name == b->name)
		return false;
	if (a->name == pass->winner && b->name == pass->loser)
		return true;
	if (a->name == pass->loser && b->name == pass->winner)
		return false;
	first = candidate_has_better_name(pass, a, b);
	pass->winner = first ? a->name : b->name;
	pass->loser = first ? b->name : a->name;
	return first;
}

/* "$x" and "$d" mark the start of ARM code and data and are not names ("ELF for the Arm 64-bit
 * Architecture", mapping symbols). */
static bool is_mapping(struct pass *pass, const Elf64_Sym *symbol)
{
	char name[4];

	return elf_header(pass->elf)->e_machine == EM_AARCH64 &&
	       elf_string(pass->elf, pass->strings, symbol->st_name, name, sizeof(name)) > 1 &&
	       name[0] == '$' && (name[1] == 'x' || name[1] == 'd') &&
	       (name[2] == '\0' || name[2] == '.');
}

/* A label is code only if its section is executable. */
static bool is_code(struct pass *pass, const Elf64_Sym *symbol)
{
	const Elf64_Shdr *section = elf_section(pass->elf, symbol->st_shndx);
	int type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_value || !symbol->st_name)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && section && (section->sh_flags & SHF_EXECINSTR) &&
	       !is_mapping(pass, symbol);
}

static bool is_data(const Elf64_Sym *symbol)
{
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value && symbol->st_name &&
	       symbol->st_size && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT;
}

/* The first match at or after ADDRESS. */
static size_t pass_first_at(const struct pass *pass, uint64_t address)
{
	size_t low = 0, high = pass->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pass->matches[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Record the end of a sized symbol: labels before END do not extend beyond it. */
static void pass_note_end(struct pass *pass, uint64_t end)
{
	size_t i = pass_first_at(pass, end);

	if (i < pass->count && end > pass->matches[i].ended)
		pass->matches[i].ended = end;
}

static int pass_visit_symbol(void *context, const Elf64_Sym *symbol)
{
	struct pass *pass = context;
	int type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);
	struct symbol_candidate candidate = {
		.start = symbol->st_value,
		.size = symbol->st_size,
		.name = symbol->st_name,
		.section = symbol->st_shndx,
		.global = binding == STB_GLOBAL,
		.set = true,
	};
	size_t i = pass_first_at(pass, candidate.start);
	bool code;

	if (i == pass->count)
		return 0;
	code = is_code(pass, symbol);
	if (!code && !is_data(symbol))
		return 0;
	candidate.rank = (uint8_t)((candidate.size ? RANK_SIZED : 0) |
				   (type != STT_NOTYPE ? RANK_FUNCTION : 0) |
				   (binding != STB_LOCAL ? RANK_NOT_LOCAL : 0));
	/* Only the first match after the symbol is updated; pass_finish() propagates the candidate to the others. */
	if (code && candidate_is_better(pass, &candidate, &pass->matches[i].nearest))
		pass->matches[i].nearest = candidate;
	if (code && candidate.size <= UINT64_MAX - candidate.start)
		pass_note_end(pass, candidate.start + candidate.size);
	for (; i < pass->count && pass->matches[i].address - candidate.start < candidate.size; i++)
		if (!pass->matches[i].found && pass->matches[i].is_data != code &&
		    candidate_is_better(pass, &candidate, &pass->matches[i].covering))
			pass->matches[i].covering = candidate;
	return 0;
}

static bool candidate_reaches(struct elf *elf, const struct symbol_candidate *candidate,
			      const struct symbol_match *match)
{
	uint64_t address = match->address;
	const Elf64_Shdr *section = elf_section(elf, candidate->section);

	if (!candidate->set || candidate->size || candidate->start < match->begin ||
	    address - candidate->start >= UNSIZED_REACH)
		return false;
	if (!elf_section_count(elf))
		return true; /* a mapped image: no section is known */
	return section && address >= section->sh_addr &&
	       address - section->sh_addr < section->sh_size;
}

static void pass_finish(struct pass *pass)
{
	const struct symbol_candidate *last = NULL;
	uint64_t ended = 0;

	for (size_t i = 0; i < pass->count; i++) {
		struct symbol_match *match = &pass->matches[i];
		const struct symbol_candidate *answer = NULL;

		if (match->nearest.set)
			last = &match->nearest;
		if (match->ended > ended)
			ended = match->ended;
		if (match->found)
			continue;
		if (match->covering.set)
			answer = &match->covering;
		else if (!match->is_data && last && last->start >= ended &&
			 candidate_reaches(pass->elf, last, match))
			answer = last;
		if (!answer)
			continue;
		match->found = true;
		match->name = answer->name;
		match->start = answer->start;
	}
}

int symbol_table_match(struct elf *elf, const Elf64_Shdr *table, const Elf64_Shdr *strings,
		       struct symbol_match *matches, size_t count)
{
	struct pass pass = {
		.elf = elf,
		.strings = strings,
		.matches = matches,
		.count = count,
	};
	int err;

	for (size_t i = 0; i < count; i++) {
		matches[i].covering.set = matches[i].nearest.set = false;
		matches[i].ended = 0;
	}
	err = elf_symbols(elf, table, pass_visit_symbol, &pass);
	if (!err)
		pass_finish(&pass);
	return err;
}
