/* Reads the bytes of a loaded module without ever touching its mapping: another thread may
 * dlclose it at any moment. */
#ifndef ENGINE_MODULES_MODULE_IMAGE_H
#define ENGINE_MODULES_MODULE_IMAGE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_PHDRS_MAX    64
#define IMAGE_BUILD_ID_MAX 32

/* What the loader says of one module. */
struct elf;

struct image {
	const char *path; /* owned by the caller */
	uintptr_t bias;
	Elf64_Phdr phdrs[IMAGE_PHDRS_MAX];
	size_t phdr_count;
	bool lasts; /* the loader never unloads it: permanent_modules_mark() has found so */
	int fd;     /* the module's file when it is provably the same, else negative */
};

/* Set the module's file behind IMAGE, if it carries the build-id that is in memory; else reads
 * come from memory. Reading the file leaves no pages of the module resident. */
void image_open(struct image *image);
void image_close(struct image *image);

/* Open the file at IMAGE's path as *ELF where its program headers are those in memory: the same link, as far
 * as can be told without a build-id. Release with elf_close. Returns 0 or -errno. */
int image_elf(const struct image *image, struct elf **elf);

/* Copy SIZE bytes at link address ADDRESS. Returns 0 or -errno. */
int image_read(const struct image *image, uint64_t address, void *data, size_t size);

/* True when image_read gives what the loader relocated. */
bool image_is_memory(const struct image *image);

/* The build-id as it is in memory; its link address goes to *ADDRESS. Returns its size, 0 when
 * there is none. */
size_t image_build_id(const struct image *image, uint8_t id[IMAGE_BUILD_ID_MAX], uint64_t *address);

/* The loaded segment that has link address ADDRESS in its file, or NULL. */
const Elf64_Phdr *image_segment(const struct image *image, uint64_t address);

/* The first program header of TYPE, or NULL. */
const Elf64_Phdr *image_phdr(const struct image *image, uint32_t type);

#endif
