/* Dynamic symbols of a module in memory, found by the dynamic section, as in the loader. No field
 * holds their number; it is derived from the hash table. */
#include "engine/elf/image_symbols.h"

#include <errno.h>
#include <string.h>

#define DYNAMIC_MAX 256
#define SYMBOLS_MAX (1u << 24)

struct dynamic {
	uint64_t symbols, strings, strings_size, gnu_hash, hash;
};

/* Entries that one read returns, since each read is a system call. */
#define DYNAMIC_READ 32

static void dynamic_set_entry(struct dynamic *dynamic, const Elf64_Dyn *entry)
{
	if (entry->d_tag == DT_SYMTAB)
		dynamic->symbols = entry->d_un.d_ptr;
	else if (entry->d_tag == DT_STRTAB)
		dynamic->strings = entry->d_un.d_ptr;
	else if (entry->d_tag == DT_STRSZ)
		dynamic->strings_size = entry->d_un.d_val;
	else if (entry->d_tag == DT_GNU_HASH)
		dynamic->gnu_hash = entry->d_un.d_ptr;
	else if (entry->d_tag == DT_HASH)
		dynamic->hash = entry->d_un.d_ptr;
}

static int dynamic_read(struct elf *image, struct dynamic *dynamic)
{
	const Elf64_Phdr *segment = elf_find_segment(image, PT_DYNAMIC);
	Elf64_Dyn read[DYNAMIC_READ];
	size_t count, part;
	bool ended = false;
	int err;

	memset(dynamic, 0, sizeof(*dynamic));
	if (!segment)
		return -ENOENT;
	count = segment->p_filesz / sizeof(*read);
	if (count > DYNAMIC_MAX)
		count = DYNAMIC_MAX;
	for (size_t i = 0; i < count && !ended; i += part) {
		part = count - i < DYNAMIC_READ ? count - i : DYNAMIC_READ;
		err = elf_read_address(image, segment->p_vaddr + i * sizeof(*read), read,
				       part * sizeof(*read));
		if (err)
			return err;
		for (size_t k = 0; k < part && !ended; k++) {
			ended = read[k].d_tag == DT_NULL;
			dynamic_set_entry(dynamic, &read[k]);
		}
	}
	return dynamic->symbols && dynamic->strings ? 0 : -ENOENT;
}

struct gnu_hash {
	uint32_t buckets, first, bloom, shift;
};

/* Set *COUNT to one more than the last symbol in a bucket's chain. Each chain ends with an odd hash. */
static int symbol_count_by_gnu_hash(struct elf *image, uint64_t table, uint32_t *count)
{
	struct gnu_hash header;
	uint32_t last = 0, word;
	uint64_t at;
	int err;

	err = elf_read(image, table, &header, sizeof(header));
	at = table + sizeof(header) + (uint64_t)header.bloom * 8;
	for (uint32_t i = 0; i < header.buckets && !err; i++, at += sizeof(word)) {
		err = elf_read(image, at, &word, sizeof(word));
		if (!err && word > last)
			last = word;
	}
	if (err || last < header.first)
		return err ? err : -ENOENT;
	do {
		err = elf_read(image, at + (uint64_t)(last - header.first) * sizeof(word), &word,
			       sizeof(word));
		last++;
	} while (!err && !(word & 1) && last < SYMBOLS_MAX);
	*count = last;
	return err;
}

/* The second word of the DT_HASH table. */
static int symbol_count_by_hash(struct elf *image, uint64_t table, uint32_t *count)
{
	return elf_read(image, table + sizeof(uint32_t), count, sizeof(*count));
}

/* Offset of ADDRESS from the ELF header. The loader relocates most link addresses in place, but
 * which ones differs between loaders. */
static uint64_t image_offset(struct elf *image, uint64_t address)
{
	uint64_t bias = elf_image_bias(image), first = 0;

	/* Not 0 if the file is linked for a fixed address. */
	for (size_t i = 0; i < elf_segment_count(image); i++) {
		const Elf64_Phdr *segment = elf_segment(image, i);

		if (segment->p_type == PT_LOAD && segment->p_offset == 0)
			first = segment->p_vaddr;
	}
	return (address >= bias ? address - bias : address) - first;
}

int image_symbols(struct elf *image, Elf64_Shdr *symbols, Elf64_Shdr *strings)
{
	struct dynamic dynamic;
	uint32_t count = 0;
	int err;

	err = dynamic_read(image, &dynamic);
	if (err)
		return err;
	if (dynamic.gnu_hash)
		err = symbol_count_by_gnu_hash(image, image_offset(image, dynamic.gnu_hash),
					       &count);
	else if (dynamic.hash)
		err = symbol_count_by_hash(image, image_offset(image, dynamic.hash), &count);
	if (err)
		return err;
	memset(symbols, 0, sizeof(*symbols));
	memset(strings, 0, sizeof(*strings));
	symbols->sh_type = SHT_DYNSYM;
	symbols->sh_entsize = sizeof(Elf64_Sym);
	symbols->sh_offset = image_offset(image, dynamic.symbols);
	symbols->sh_size = (uint64_t)count * sizeof(Elf64_Sym);
	strings->sh_type = SHT_STRTAB;
	strings->sh_offset = image_offset(image, dynamic.strings);
	strings->sh_size = dynamic.strings_size;
	return 0;
}

/* ---- Lookup of one symbol ---- */

/* A linker makes no longer chains. */
#define CHAIN_MAX       4096
#define SYMBOL_NAME_MAX 96

/* Whether symbol NUMBER is called NAME and is defined: 0, -ENOENT if not, or -errno. */
static int symbol_compare(struct elf *image, const struct dynamic *dynamic, uint32_t number,
			  const char *name, Elf64_Sym *symbol)
{
	uint64_t symbols = image_offset(image, dynamic->symbols);
	uint64_t strings = image_offset(image, dynamic->strings);
	size_t length = strlen(name) + 1;
	char text[SYMBOL_NAME_MAX];
	int err;

	if (length > sizeof(text))
		return -ENAMETOOLONG;
	err = elf_read(image, symbols + (uint64_t)number * sizeof(*symbol), symbol,
		       sizeof(*symbol));
	if (!err && symbol->st_shndx == SHN_UNDEF)
		err = -ENOENT;
	if (!err)
		err = elf_read(image, strings + symbol->st_name, text, length);
	return err ? err : memcmp(text, name, length) ? -ENOENT : 0;
}

static int symbol_find_by_gnu_hash(struct elf *image, const struct dynamic *dynamic,
				   const char *name, Elf64_Sym *symbol)
{
	uint64_t table = image_offset(image, dynamic->gnu_hash), buckets, chain;
	uint32_t hash = 5381, number, word;
	struct gnu_hash header;
	int err;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	err = elf_read(image, table, &header, sizeof(header));
	if (err || !header.buckets)
		return err ? err : -ENOENT;
	buckets = table + sizeof(header) + (uint64_t)header.bloom * 8;
	chain = buckets + (uint64_t)header.buckets * sizeof(word);
	err = elf_read(image, buckets + (uint64_t)(hash % header.buckets) * sizeof(number), &number,
		       sizeof(number));
	if (err || number < header.first)
		return err ? err : -ENOENT;
	for (int i = 0; i < CHAIN_MAX; i++, number++) {
		err = elf_read(image, chain + (uint64_t)(number - header.first) * sizeof(word),
			       &word, sizeof(word));
		if (!err && (word | 1) == (hash | 1))
			err = symbol_compare(image, dynamic, number, name, symbol);
		else if (!err)
			err = -ENOENT;
		if (err != -ENOENT)
			return err;
		if (word & 1)
			break;
	}
	return -ENOENT;
}

/* Look the name up in the DT_HASH table. */
static int symbol_find_by_hash(struct elf *image, const struct dynamic *dynamic, const char *name,
			       Elf64_Sym *symbol)
{
	uint64_t table = image_offset(image, dynamic->hash);
	uint32_t hash = 0, high, number, head[2];
	int err;

	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (uint8_t)*c;
		high = hash & 0xf0000000;
		hash ^= high >> 24;
		hash &= ~high;
	}
	err = elf_read(image, table, head, sizeof(head));
	if (err || !head[0])
		return err ? err : -ENOENT;
	table += sizeof(head);
	err = elf_read(image, table + (uint64_t)(hash % head[0]) * sizeof(number), &number,
		       sizeof(number));
	for (int i = 0; !err && number && i < CHAIN_MAX; i++) {
		err = symbol_compare(image, dynamic, number, name, symbol);
		if (err != -ENOENT)
			return err;
		err = elf_read(image, table + ((uint64_t)head[0] + number) * sizeof(number),
			       &number, sizeof(number));
	}
	return err ? err : -ENOENT;
}

int image_symbol(struct elf *image, const char *name, Elf64_Sym *symbol)
{
	struct dynamic dynamic;
	int err = dynamic_read(image, &dynamic);

	if (err)
		return err;
	if (dynamic.gnu_hash)
		return symbol_find_by_gnu_hash(image, &dynamic, name, symbol);
	return dynamic.hash ? symbol_find_by_hash(image, &dynamic, name, symbol) : -ENOENT;
}
