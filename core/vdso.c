/* Functions of the vDSO, an ELF image. Its symbols are searched linearly, as there are about ten. */
#include "core/vdso.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

struct symbols {
	const ElfW(Sym) * table;
	const char *names;
	size_t count;
};

/* strcmp(3) may be an indirect function that is not resolved yet. */
static bool strings_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Newer images have no DT_HASH, which contains the number of symbols. All have sections. */
static size_t vdso_count_symbols(const ElfW(Ehdr) * image)
{
	const char *sections = (const char *)image + image->e_shoff;

	for (size_t i = 0; image->e_shoff && i < image->e_shnum; i++) {
		const ElfW(Shdr) *section = (const void *)(sections + i * image->e_shentsize);

		if (section->sh_type == SHT_DYNSYM)
			return section->sh_size / sizeof(ElfW(Sym));
	}
	return 0;
}

static void vdso_read_symbols(struct symbols *symbols, const ElfW(Ehdr) * image, uintptr_t bias,
			      const ElfW(Dyn) * dynamic)
{
	symbols->count = vdso_count_symbols(image);
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		const void *place = (const void *)(bias + dynamic->d_un.d_ptr);

		if (dynamic->d_tag == DT_SYMTAB)
			symbols->table = place;
		else if (dynamic->d_tag == DT_STRTAB)
			symbols->names = place;
		else if (dynamic->d_tag == DT_HASH && !symbols->count)
			symbols->count = ((const uint32_t *)place)[1];
	}
}

/* Return NULL when the kernel, or an emulator, provides no vDSO. */
static const ElfW(Ehdr) * vdso_image(void)
{
	int saved = errno; /* getauxval() sets it */
	unsigned long image = getauxval(AT_SYSINFO_EHDR);

	errno = saved;
	return (const void *)image;
}

void *vdso_function(const char *name)
{
	const ElfW(Ehdr) *image = vdso_image();
	const ElfW(Dyn) *dynamic = NULL;
	struct symbols symbols = { 0 };
	uintptr_t bias = 0;

	for (size_t i = 0; image && i < image->e_phnum; i++) {
		const ElfW(Phdr) *part = (const void *)((const char *)image + image->e_phoff +
							i * image->e_phentsize);

		if (part->p_type == PT_LOAD && !bias)
			bias = (uintptr_t)image + part->p_offset - part->p_vaddr;
		else if (part->p_type == PT_DYNAMIC)
			dynamic = (const void *)((const char *)image + part->p_offset);
	}
	if (dynamic)
		vdso_read_symbols(&symbols, image, bias, dynamic);
	for (size_t i = 0; symbols.table && symbols.names && i < symbols.count; i++)
		if (symbols.table[i].st_shndx != SHN_UNDEF &&
		    strings_equal(symbols.names + symbols.table[i].st_name, name))
			return (void *)(bias + symbols.table[i].st_value);
	return NULL;
}
