/* Reader for the bytes of a loaded module. It never accesses the mapping itself, since another
 * thread may dlclose it at any time. */
#ifndef ENGINE_MODULES_MODULE_IMAGE_H
#define ENGINE_MODULES_MODULE_IMAGE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_PHDRS_MAX    64
#define IMAGE_BUILD_ID_MAX 32

/* The loader's description of one module. */
struct elf;

struct image {
	const char *path; /* owned by the caller */
	uintptr_t bias;
	Elf64_Phdr phdrs[IMAGE_PHDRS_MAX];
	size_t phdr_count;
	bool is_permanent; /* the loader never unloads it; set by permanent_modules_mark() */
	int fd;            /* the module's file if it is provably the same, else negative */
};

/* Open the file of IMAGE, if its build-id equals the one in memory; else reads use memory. Reads
 * from the file leave no pages of the module resident. */
void image_open(struct image *image);
void image_close(struct image *image);

/* Open the file at the path of IMAGE as *ELF, if its program headers equal those in memory; without
 * a build-id, that is the best check for the same link. Release with elf_close. Returns 0 or
 * -errno. */
int image_elf(const struct image *image, struct elf **elf);

/* Copy SIZE bytes at link address ADDRESS. Returns 0 or -errno. */
int image_read(const struct image *image, uint64_t address, void *data, size_t size);

/* Whether image_read returns relocated values. */
bool image_is_memory(const struct image *image);

/* Copy the build-id in memory to ID and its link address to *ADDRESS. Returns its size, 0 if there is none. */
size_t image_build_id(const struct image *image, uint8_t id[IMAGE_BUILD_ID_MAX], uint64_t *address);

/* The loaded segment whose file bytes contain link address ADDRESS, or NULL. */
const Elf64_Phdr *image_segment(const struct image *image, uint64_t address);

/* The first program header of TYPE, or NULL. */
const Elf64_Phdr *image_phdr(const struct image *image, uint32_t type);

#endif
