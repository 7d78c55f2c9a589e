/* Reader for a module's bytes. It reads the file if that is the same link, else memory, by a system
 * call that fails where a load would fault. */
#include "engine/modules/module_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fd.h"
#include "engine/elf/build_id.h"
#include "engine/elf/elf.h"
#include "engine/elf/module_file.h"
#include "engine/reading/process_memory.h"

const Elf64_Phdr *image_phdr(const struct image *image, uint32_t type)
{
	for (size_t i = 0; i < image->phdr_count; i++)
		if (image->phdrs[i].p_type == type)
			return &image->phdrs[i];
	return NULL;
}

const Elf64_Phdr *image_segment(const struct image *image, uint64_t address)
{
	const Elf64_Phdr *phdr;

	for (size_t i = 0; i < image->phdr_count; i++) {
		phdr = &image->phdrs[i];
		if (phdr->p_type == PT_LOAD && address >= phdr->p_vaddr &&
		    address - phdr->p_vaddr < phdr->p_filesz)
			return phdr;
	}
	return NULL;
}

#define NOTES_MAX 4096

size_t image_build_id(const struct image *image, uint8_t id[IMAGE_BUILD_ID_MAX], uint64_t *address)
{
	uint8_t *notes = malloc(NOTES_MAX);
	const Elf64_Phdr *phdr;
	size_t found = 0, size, offset;

	for (size_t i = 0; notes && !found && i < image->phdr_count; i++) {
		phdr = &image->phdrs[i];
		size = phdr->p_memsz < NOTES_MAX ? phdr->p_memsz : NOTES_MAX;
		if (phdr->p_type != PT_NOTE ||
		    process_memory_read(image->bias + phdr->p_vaddr, notes, size))
			continue;
		found = build_id_find(notes, size, IMAGE_BUILD_ID_MAX, &offset);
		if (found) {
			memcpy(id, notes + offset, found);
			*address = phdr->p_vaddr + offset;
		}
	}
	free(notes);
	return found;
}

static int file_read(const struct image *image, int fd, uint64_t address, void *data, size_t size)
{
	const Elf64_Phdr *phdr = image_segment(image, address);

	if (!phdr || size > phdr->p_filesz - (address - phdr->p_vaddr))
		return -EFAULT;
	return fd_read(fd, data, size, (off_t)(phdr->p_offset + (address - phdr->p_vaddr)));
}

/* Whether the file has the same build-id at the same address and the same program headers. */
static bool file_is_same(const struct image *image, int fd)
{
	uint8_t id[IMAGE_BUILD_ID_MAX], file_id[IMAGE_BUILD_ID_MAX];
	size_t size, bytes = image->phdr_count * sizeof(Elf64_Phdr);
	Elf64_Phdr *phdrs = malloc(bytes);
	Elf64_Ehdr ehdr;
	uint64_t address;
	bool same;

	size = image_build_id(image, id, &address);
	same = phdrs && size && !fd_read(fd, &ehdr, sizeof(ehdr), 0) &&
	       ehdr.e_phentsize == sizeof(Elf64_Phdr) && ehdr.e_phnum == image->phdr_count &&
	       !fd_read(fd, phdrs, bytes, (off_t)ehdr.e_phoff) &&
	       !memcmp(phdrs, image->phdrs, bytes) &&
	       !file_read(image, fd, address, file_id, size) && !memcmp(id, file_id, size);
	free(phdrs);
	return same;
}

void image_open(struct image *image)
{
	int fd = -1;

	image->fd = -1;
	if (image->path[0] == '/' && image->phdr_count)
		fd = module_file_open(image->path);
	if (fd >= 0 && !file_is_same(image, fd)) {
		close(fd);
		fd = -1;
	}
	image->fd = fd;
}

/* Whether ELF has the program headers of IMAGE, which indicates the same link. */
static bool has_headers_of(const struct elf *elf, const struct image *image)
{
	bool same = elf_segment_count(elf) == image->phdr_count;

	for (size_t i = 0; same && i < image->phdr_count; i++)
		same = !memcmp(elf_segment(elf, i), &image->phdrs[i], sizeof(image->phdrs[i]));
	return same;
}

int image_elf(const struct image *image, struct elf **elf)
{
	int err = image->path[0] == '/' && image->phdr_count
			  ? module_file_open_elf(elf, image->path)
			  : -ENOENT;

	if (!err && !has_headers_of(*elf, image)) {
		elf_close(*elf);
		err = -ENOENT;
	}
	return err;
}

void image_close(struct image *image)
{
	if (image->fd >= 0)
		close(image->fd);
	image->fd = -1;
}

bool image_is_memory(const struct image *image)
{
	return image->fd < 0;
}

int image_read(const struct image *image, uint64_t address, void *data, size_t size)
{
	if (image->fd >= 0)
		return file_read(image, image->fd, address, data, size);
	return process_memory_read(image->bias + address, data, size);
}
