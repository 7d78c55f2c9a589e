/* Unwind table of a module, compiled from its sections. */
#include "engine/modules/module_table.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "engine/cfi/cfi.h"
#include "engine/cfi/cfi_header.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/elf/elf.h"
#include "engine/modules/function_starts.h"
#include "engine/runtime/go/go_table.h"
#include "engine/reading/process_memory.h"

/* In musl only a few functions have entries: those in assembler, and on some processors those for
 * long integers. In other modules each function has an entry, with one row per ten to thirty bytes
 * of code. */
#define SPARSE_BYTES      65536
#define BYTES_OF_A_ROW    1024
#define BYTES_OF_AN_ENTRY 4096

/* Size of the code without the gaps between segments, which a linker script can make large. */
static size_t code_bytes(const struct image *image)
{
	size_t bytes = 0;

	for (size_t i = 0; i < image->phdr_count; i++)
		if (image->phdrs[i].p_type == PT_LOAD && image->phdrs[i].p_flags & PF_X)
			bytes += image->phdrs[i].p_memsz;
	return bytes;
}

bool module_table_can_wait(const struct image *image, uintptr_t start)
{
	const Elf64_Phdr *phdr = image_phdr(image, PT_GNU_EH_FRAME);
	uintptr_t header = phdr ? image->bias + phdr->p_vaddr : 0;
	uint8_t head[CFI_HEADER_FIXED];
	size_t bytes = code_bytes(image);

	if (phdr && bytes > SPARSE_BYTES &&
	    phdr->p_memsz / CFI_HEADER_ROW < bytes / BYTES_OF_AN_ENTRY)
		return false;
	return phdr && (uintptr_t)cfi_lookup_header(start) == header &&
	       !process_memory_read(header, head, sizeof(head)) && cfi_header_searchable(head) &&
	       !go_table_is_for(image);
}

static void *map_alloc(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void map_free(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}

/* Size of .eh_frame from BEGIN to the end of its last entry; to the end of its segment if there is
 * no search table. */
static size_t frame_size(const struct image *image, uint64_t begin, uint64_t last)
{
	const Elf64_Phdr *phdr;
	uint32_t length;

	if (last >= begin && !image_read(image, last, &length, sizeof(length)))
		return (size_t)(last - begin) + sizeof(length) + length;
	phdr = image_segment(image, begin);
	return phdr ? (size_t)(phdr->p_filesz - (begin - phdr->p_vaddr)) : 0;
}

#define SECTION_MAX ((size_t)512 << 20)

/* Some linkers, such as musl-gcc's, write no header for .eh_frame: then the file's section headers
 * give its address. */
static bool find_section(const struct image *image, struct cfi_source *source)
{
	const Elf64_Shdr *section;
	struct elf *elf;
	bool found;

	if (image_elf(image, &elf))
		return false;
	section = elf_find_section(elf, ".eh_frame");
	found = section && section->sh_flags & SHF_ALLOC && section->sh_type != SHT_NOBITS;
	if (found) {
		source->frame_address = section->sh_addr;
		source->frame_size = section->sh_size;
	}
	elf_close(elf);
	return found;
}

static int find_by_header(const struct image *image, const Elf64_Phdr *phdr,
			  struct cfi_source *source)
{
	uint8_t *hdr;
	uint64_t last;

	if (phdr->p_memsz > SECTION_MAX)
		return -EFBIG;
	source->hdr_size = phdr->p_memsz;
	source->hdr_address = phdr->p_vaddr;
	source->hdr = hdr = map_alloc(source->hdr_size);
	if (!hdr || image_read(image, source->hdr_address, hdr, source->hdr_size) ||
	    cfi_frame_span(source, &source->frame_address, &last))
		return -ENOENT;
	source->frame_size = frame_size(image, source->frame_address, last);
	return 0;
}

static bool is_sparse(const struct unwind_table *table, size_t bytes)
{
	return !table || (bytes > SPARSE_BYTES && table->rows < bytes / BYTES_OF_A_ROW);
}

static struct unwind_table *table_or_function_starts(struct unwind_table *table,
						     const struct image *image, uintptr_t start,
						     uintptr_t end)
{
	struct unwind_table *starts = function_starts_compile(image, start, end);

	if (!starts)
		return table;
	free(table);
	return starts;
}

struct unwind_table *module_table_compile(const struct image *image, uintptr_t start, uintptr_t end)
{
	const Elf64_Phdr *phdr = image_phdr(image, PT_GNU_EH_FRAME);
	struct cfi_source source = { .text_start = start - image->bias,
				     .text_end = end - image->bias,
				     .outermost = cfi_lookup_outermost() - image->bias,
				     .bias = image_is_memory(image) ? image->bias : 0 };
	struct unwind_table *table = NULL, *go;
	void *frame = NULL;

	if (phdr ? find_by_header(image, phdr, &source) : !find_section(image, &source))
		goto out;
	if (!source.frame_size || source.frame_size > SECTION_MAX)
		goto out;
	source.frame = frame = map_alloc(source.frame_size);
	if (!frame || image_read(image, source.frame_address, frame, source.frame_size))
		goto out;
	if (cfi_compile(&table, &source))
		table = NULL; /* its frames are then unwound by frame pointer */
out:
	map_free((void *)source.hdr, source.hdr_size);
	map_free(frame, source.frame_size);
	go = go_table_is_for(image) ? go_table_compile(image, start, end, table) : NULL;
	if (go) {
		free(table);
		return go;
	}
	return is_sparse(table, code_bytes(image))
		       ? table_or_function_starts(table, image, start, end)
		       : table;
}
