/* The dynamic symbols of a module in memory, found as the loader finds them. How many there are
 * is said nowhere: only the hash table, made for looking up, tells. */
#include "engine/symbols/image_symbols.h"

#include <errno.h>
#include <string.h>

#define DYNAMIC_MAX 256
#define SYMBOLS_MAX (1u << 24)

struct dynamic {
	uint64_t symbols, strings, strings_size, gnu_hash, hash;
};

static int read_dynamic(struct elf *image, struct dynamic *dynamic)
{
	const Elf64_Phdr *segment = elf_find_segment(image, PT_DYNAMIC);
	Elf64_Dyn entry;
	int err;

	memset(dynamic, 0, sizeof(*dynamic));
	if (!segment)
		return -ENOENT;
	for (size_t i = 0; i < DYNAMIC_MAX; i++) {
		err = elf_read_address(image, segment->p_vaddr + i * sizeof(entry), &entry,
				       sizeof(entry));
		if (err)
			return err;
		if (entry.d_tag == DT_NULL)
			break;
		else if (entry.d_tag == DT_SYMTAB)
			dynamic->symbols = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRTAB)
			dynamic->strings = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRSZ)
			dynamic->strings_size = entry.d_un.d_val;
		else if (entry.d_tag == DT_GNU_HASH)
			dynamic->gnu_hash = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_HASH)
			dynamic->hash = entry.d_un.d_ptr;
	}
	return dynamic->symbols && dynamic->strings ? 0 : -ENOENT;
}

/* One word more than the last symbol that a bucket leads to. Each chain ends with an odd hash. */
static int count_by_gnu_hash(struct elf *image, uint64_t table, uint32_t *count)
{
	struct {
		uint32_t buckets, first, bloom, shift;
	} header;
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

/* The second word of the older table. */
static int count_by_hash(struct elf *image, uint64_t table, uint32_t *count)
{
	return elf_read(image, table + sizeof(uint32_t), count, sizeof(*count));
}

/* Where ADDRESS is, counted from the header on. The loader writes real addresses over most of
 * the link addresses, and which of them is not the same everywhere. */
static uint64_t offset_of(struct elf *image, uint64_t address)
{
	uint64_t bias = elf_image_bias(image);

	return address >= bias ? address - bias : address;
}

int image_symbols(struct elf *image, Elf64_Shdr *symbols, Elf64_Shdr *strings)
{
	struct dynamic dynamic;
	uint32_t count = 0;
	int err;

	err = read_dynamic(image, &dynamic);
	if (err)
		return err;
	if (dynamic.gnu_hash)
		err = count_by_gnu_hash(image, offset_of(image, dynamic.gnu_hash), &count);
	else if (dynamic.hash)
		err = count_by_hash(image, offset_of(image, dynamic.hash), &count);
	if (err)
		return err;
	memset(symbols, 0, sizeof(*symbols));
	memset(strings, 0, sizeof(*strings));
	symbols->sh_type = SHT_DYNSYM;
	symbols->sh_entsize = sizeof(Elf64_Sym);
	symbols->sh_offset = offset_of(image, dynamic.symbols);
	symbols->sh_size = (uint64_t)count * sizeof(Elf64_Sym);
	strings->sh_type = SHT_STRTAB;
	strings->sh_offset = offset_of(image, dynamic.strings);
	strings->sh_size = dynamic.strings_size;
	return 0;
}
