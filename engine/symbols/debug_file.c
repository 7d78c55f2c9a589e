/* Files with the symbols of a module: its own file and separate debug files. */
#include "engine/symbols/debug_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/text/hex.h"
#include "engine/elf/elf_identity.h"
#include "engine/elf/module_file.h"
#include "engine/reading/process_memory.h"

/* A checksum reads the whole file, in each chunk with new addresses of that file. */
#define CRC_BYTES_MAX (64u << 20)

static bool same_build_id(struct elf *elf, const uint8_t *id, size_t size)
{
	uint8_t own[ELF_BUILD_ID_MAX];
	int n = elf_build_id(elf, own);

	return n > 0 && (size_t)n >= size && memcmp(own, id, size) == 0;
}

/* Whether the first page of SEGMENT in memory equals the file. */
static bool same_bytes(struct elf *elf, const Elf64_Phdr *segment, uint64_t bias)
{
	uint8_t file[4096], memory[4096];
	size_t length = sizeof(file);

	if (length > segment->p_filesz)
		length = (size_t)segment->p_filesz;
	return !elf_read(elf, segment->p_offset, file, length) &&
	       !process_memory_read((uintptr_t)(bias + segment->p_vaddr), memory, length) &&
	       memcmp(file, memory, length) == 0;
}

/* Check without a build-id: compare the headers, which describe the position and size of all parts,
 * and the first page of code. Loaders do not write there. */
static bool same_content(struct elf *elf, uint64_t bias)
{
	bool seen = false;

	for (size_t i = 0; i < elf_segment_count(elf); i++) {
		const Elf64_Phdr *segment = elf_segment(elf, i);

		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) ||
		    (segment->p_offset && !(segment->p_flags & PF_X)))
			continue;
		if (!same_bytes(elf, segment, bias))
			return false;
		seen = true;
	}
	return seen;
}

static bool is_mapped_file(struct elf *elf, const struct mapped_file *mapped)
{
	if (mapped->build_id_size)
		return same_build_id(elf, mapped->build_id, mapped->build_id_size);
	return !mapped->mapped || same_content(elf, mapped->bias);
}

static int open_same(struct elf **out, const char *path, const struct mapped_file *mapped)
{
	struct elf *elf;
	int err = module_file_open_elf(&elf, path);

	if (err)
		return err;
	if (!is_mapped_file(elf, mapped)) {
		elf_close(elf);
		return -ESTALE;
	}
	*out = elf;
	return 0;
}

int debug_file_open(struct elf **out, const struct mapped_file *mapped)
{
	int err = open_same(out, mapped->path, mapped);

	/* This link points to the running file, even after a rename. Only the build-id proves that
	 * MAPPED is the executable. */
	if (err && mapped->build_id_size && !open_same(out, "/proc/self/exe", mapped))
		return 0;
	return err;
}

int debug_file_open_image(struct elf **out, const struct mapped_file *mapped)
{
	struct elf *elf;
	int err;

	/* A file linked at address 0, such as a library, has its header at the bias. */
	if (!mapped->mapped || !mapped->bias)
		return -ENOENT;
	err = elf_open_image(&elf, (uintptr_t)mapped->bias, UINTPTR_MAX - (uintptr_t)mapped->bias);
	if (err)
		return err;
	if (mapped->build_id_size && !is_mapped_file(elf, mapped)) {
		elf_close(elf);
		return -ESTALE;
	}
	*out = elf;
	return 0;
}

static int open_by_build_id(struct elf **out, const char *root, const uint8_t *id, size_t size)
{
	char path[PATH_MAX], hex[2 * ELF_BUILD_ID_MAX + 1];
	struct elf *elf;
	int n, err;

	if (size < 2)
		return -ENOENT;
	*hex_encode(hex, id, size) = '\0';
	n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", root, hex, hex + 2);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	err = module_file_open_elf(&elf, path);
	if (err)
		return err;
	if (!same_build_id(elf, id, size)) {
		elf_close(elf);
		return -ESTALE;
	}
	*out = elf;
	return 0;
}

static bool is_linked(struct elf *elf, const uint8_t *id, size_t id_size, uint32_t want)
{
	uint32_t crc;

	if (id_size)
		return same_build_id(elf, id, id_size);
	return elf_size(elf) <= CRC_BYTES_MAX && !elf_crc32(elf, &crc) && crc == want;
}

static int open_by_link(struct elf **out, struct elf *file, const char *path, const char *root,
			const uint8_t *id, size_t id_size)
{
	const char *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash - path) : 0;
	char name[ELF_NAME_MAX], candidate[PATH_MAX];
	const char *const places[][2] = { { "", "/" }, { "", "/.debug/" }, { root, "/" } };
	uint32_t crc;
	int n, err;

	err = elf_debug_link(file, name, &crc);
	if (err)
		return err;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct elf *elf;

		n = snprintf(candidate, sizeof(candidate), "%s%.*s%s%s", places[i][0], directory,
			     path, places[i][1], name);
		/* A file whose link names the file itself adds nothing. */
		if (n < 0 || (size_t)n >= sizeof(candidate) || strcmp(candidate, path) == 0 ||
		    module_file_open_elf(&elf, candidate))
			continue;
		if (is_linked(elf, id, id_size, crc)) {
			*out = elf;
			return 0;
		}
		elf_close(elf);
	}
	return -ENOENT;
}

int debug_file_open_separate(struct elf **out, struct elf *file, const char *path, const char *root)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	int n = elf_build_id(file, id);
	size_t size = n > 0 ? (size_t)n : 0;

	if (size && !open_by_build_id(out, root, id, size))
		return 0;
	return open_by_link(out, file, path, root, id, size);
}
