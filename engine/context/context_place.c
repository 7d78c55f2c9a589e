/* Where a thread has a variable of a module's.
 *
 * The program's own variables lie beside the thread pointer, where its linker has put them. Of other modules
 * their relocations tell: each way to get at a thread-local variable has one, and what the loader wrote there is
 * an offset from the thread pointer, or the number of a module, whose block each thread finds by a vector. */
#include "engine/context/context_place.h"

#include <errno.h>
#include <string.h>

#include "arch/thread_pointer.h"
#include "engine/reading/process_memory.h"

#define DYNAMIC_MAX 256
#define RELAS_MAX   (1u << 24)
#define RELAS_READ  64

#if defined(__x86_64__)
#define R_MODULE              R_X86_64_DTPMOD64
#define ARCH_R_TLS_OFFSET     R_X86_64_TPOFF64
#define ARCH_R_TLS_DESCRIPTOR R_X86_64_TLSDESC
#define GLIBC_VECTOR          8
#define MUSL_VECTOR           8
#else
/* By number, as C libraries' headers do not call them alike. */
#define R_MODULE              1028 /* R_AARCH64_TLS_DTPMOD */
#define ARCH_R_TLS_OFFSET     1030 /* R_AARCH64_TLS_TPREL */
#define ARCH_R_TLS_DESCRIPTOR 1031 /* R_AARCH64_TLSDESC */
#define GLIBC_VECTOR          0
#define MUSL_VECTOR           (-8)
#endif

/* A descriptor's argument is an offset where it is less than this: nothing else is mapped so low. */
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

/* The loader writes real addresses over link addresses, but not everywhere. */
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
		else if (entry.d_tag == DT_DEBUG) /* programs alone have it */
			s->is_program = true;
	}
	return 0;
}

static void place_set_module(struct search *s, uint64_t module, uint64_t offset)
{
	*s->place = (struct context_place){
		.module = (size_t)module,
		.offset = (intptr_t)offset,
		.vector_at = s->musl ? MUSL_VECTOR : GLIBC_VECTOR,
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

/* Whether it is of the variable: by its name, or of the module's block, from which it has its own offset. */
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

/* The second word of a descriptor is the offset, or leads to a module's number and an offset there. Until the
 * first use it may lead to the relocation itself. */
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

/* -ENOENT where it is of something else. */
static int place_read_rela(struct search *s, const Elf64_Rela *rela)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
	bool named = ELF64_R_SYM(rela->r_info);
	uint64_t words[2], rest;
	int err;

	if ((type != R_MODULE && type != ARCH_R_TLS_OFFSET && type != ARCH_R_TLS_DESCRIPTOR) ||
	    !rela_is_for_symbol(s, rela))
		return -ENOENT;
	err = process_memory_read(s->bias + (uintptr_t)rela->r_offset, words,
				  type == ARCH_R_TLS_OFFSET ? sizeof(words[0]) : sizeof(words));
	if (err)
		return err;
	/* What it is of, without a name, is where the addend says. */
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
