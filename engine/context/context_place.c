/* Finds the address of a module's thread-local variable in each thread.
 *
 * The executable's own variables are next to the thread pointer, at offsets that the linker has
 * set. For other modules the relocations contain the address: each way to access a thread-local
 * variable needs one. The loader has replaced it with an offset from the thread pointer, or with a
 * module number. Each thread has a vector that maps the number to the module's block. */
#include "engine/context/context_place.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/reading/process_memory.h"

#define DYNAMIC_MAX 256
#define RELAS_MAX   (1u << 24)
#define RELAS_READ  64

/* A descriptor's argument below this is an offset, because nothing is mapped at such low
 * addresses. */
#define STATIC_MAX (1 << 16)

struct search {
	struct elf *image;
	uintptr_t bias;
	const Elf64_Sym *symbol;
	bool musl;
	uint64_t relas[2], relas_size[2], symbols;
	bool is_program;
	struct context_place *place;
};

/* The loader replaces link addresses with real ones, but not everywhere. */
static uintptr_t place_real_address(const struct search *s, uint64_t value)
{
	return value >= s->bias ? (uintptr_t)value : s->bias + (uintptr_t)value;
}

static int read_dynamic(struct search *s)
{
	const Elf64_Phdr *segment = elf_find_segment(s->image, PT_DYNAMIC);
	Elf64_Dyn entry;
	int err;

	if (!segment)
		return -ENOENT;
	for (size_t i = 0; i < DYNAMIC_MAX; i++) {
		err = elf_read_address(s->image, segment->p_vaddr + i * sizeof(entry), &entry,
				       sizeof(entry));
		if (err)
			return err;
		if (entry.d_tag == DT_NULL)
			break;
		else if (entry.d_tag == DT_RELA)
			s->relas[0] = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_RELASZ)
			s->relas_size[0] = entry.d_un.d_val;
		else if (entry.d_tag == DT_JMPREL)
			s->relas[1] = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_PLTRELSZ)
			s->relas_size[1] = entry.d_un.d_val;
		else if (entry.d_tag == DT_SYMTAB)
			s->symbols = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_DEBUG) /* only executables have it */
			s->is_program = true;
	}
	return 0;
}

static void place_set_module(struct search *s, uint64_t module, uint64_t offset)
{
	*s->place = (struct context_place){
		.module = (size_t)module,
		.offset = (intptr_t)offset,
		.vector_at = s->musl ? ARCH_DTV_MUSL : ARCH_DTV_GLIBC,
		.entry_bytes = s->musl ? 8 : 16,
		.count_at = s->musl ? 0 : -16,
	};
}

static int place_set_offset(struct search *s, uint64_t offset)
{
	int64_t place = (int64_t)offset;

	*s->place = (struct context_place){ .offset = (intptr_t)place };
	return place > -CONTEXT_OFFSET_MAX && place < CONTEXT_OFFSET_MAX ? 0 : -EBADMSG;
}

/* True if the relocation is for the variable: by its symbol, or for the module's block, in which
 * the variable has its own offset. */
static bool rela_is_for_symbol(const struct search *s, const Elf64_Rela *rela)
{
	uint64_t number = ELF64_R_SYM(rela->r_info);
	Elf64_Sym symbol;

	if (!number)
		return true;
	return !process_memory_read(place_real_address(s, s->symbols) + number * sizeof(symbol),
				    &symbol, sizeof(symbol)) &&
	       !memcmp(&symbol, s->symbol, sizeof(symbol));
}

/* Read a descriptor. Its second word is the offset, or the address of a module number and an offset
 * in that module. Until the first use it may be the address of the relocation itself. */
static int place_read_descriptor(struct search *s, const uint64_t words[2], uint64_t rest)
{
	uint64_t indirect[2];
	int err;

	if ((int64_t)words[1] < STATIC_MAX) {
		return place_set_offset(s, words[1] + rest);
	}
	err = process_memory_read((uintptr_t)words[1], indirect, sizeof(indirect));
	if (err)
		return err;
	if (!indirect[0] || indirect[0] >= UINT16_MAX)
		return -EAGAIN;
	place_set_module(s, indirect[0], indirect[1] + rest);
	return 0;
}

/* Returns -ENOENT for another symbol's relocation. */
static int place_read_rela(struct search *s, const Elf64_Rela *rela)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
	bool named = ELF64_R_SYM(rela->r_info);
	uint64_t words[2], rest;
	int err;

	if ((type != ARCH_R_TLS_MODULE && type != ARCH_R_TLS_OFFSET &&
	     type != ARCH_R_TLS_DESCRIPTOR) ||
	    !rela_is_for_symbol(s, rela))
		return -ENOENT;
	err = process_memory_read(s->bias + (uintptr_t)rela->r_offset, words,
				  type == ARCH_R_TLS_OFFSET ? sizeof(words[0]) : sizeof(words));
	if (err)
		return err;
	/* Without a symbol, the addend gives the address in the block. */
	rest = named ? 0 - (uint64_t)rela->r_addend
		     : s->symbol->st_value - (uint64_t)rela->r_addend;
	if (type == ARCH_R_TLS_OFFSET) {
		return place_set_offset(s, words[0] + rest);
	}
	if (type == ARCH_R_TLS_DESCRIPTOR)
		return place_read_descriptor(s, words, rest);
	if (!words[0] || words[0] >= UINT16_MAX)
		return -EAGAIN;
	place_set_module(s, words[0], named ? words[1] : s->symbol->st_value);
	return 0;
}

static int place_search_relas(struct search *s, uint64_t relas, uint64_t size)
{
	uint64_t count = size / sizeof(Elf64_Rela), part;
	uintptr_t at = place_real_address(s, relas);
	Elf64_Rela read[RELAS_READ];
	int err = -ENOENT;

	if (count > RELAS_MAX)
		return -ENOENT;
	for (; count && err == -ENOENT; count -= part, at += part * sizeof(*read)) {
		part = count < RELAS_READ ? count : RELAS_READ;
		if (process_memory_read(at, read, part * sizeof(*read)))
			return -EFAULT;
		for (uint64_t i = 0; i < part && err == -ENOENT; i++)
			err = place_read_rela(s, &read[i]);
	}
	return err;
}

int context_place_find(struct context_place *place, struct elf *image, uintptr_t bias,
		       const Elf64_Sym *symbol, bool musl)
{
	struct search s = {
		.image = image, .bias = bias, .symbol = symbol, .musl = musl, .place = place
	};
	const Elf64_Phdr *block = elf_find_segment(image, PT_TLS);
	int err = read_dynamic(&s);

	if (err)
		return err;
	if (s.is_program && block)
		return place_set_offset(&s, (uint64_t)thread_pointer_offset(symbol->st_value,
									    block->p_memsz,
									    block->p_align));
	err = -ENOENT;
	for (size_t i = 0; i < 2 && err == -ENOENT; i++)
		err = place_search_relas(&s, s.relas[i], s.relas_size[i]);
	return err;
}
