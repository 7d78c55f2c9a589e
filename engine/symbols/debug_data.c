/* The small symbol table that some distributions pack with xz into .gnu_debugdata. It is unpacked
 * into an unnamed memory file and read like any other file. */
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/memory_file.h"
#include "engine/symbols/debug_file.h"

/* Real tables have a few hundred kilobytes and unpack to a few megabytes. */
#define UNPACKED_MAX (32u << 20)
#define LZMA_MEMORY  (48u << 20)
#define BUFFER_BYTES 16384

struct unpacking {
	struct elf *file;
	uint64_t at, end; /* unread part of the section */
	int fd;
	uint64_t written;
	lzma_stream stream;
	uint8_t in[BUFFER_BYTES], out[BUFFER_BYTES];
};

static int unpacking_refill(struct unpacking *unpacking)
{
	uint64_t left = unpacking->end - unpacking->at;
	size_t n = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
	int err = elf_read(unpacking->file, unpacking->at, unpacking->in, n);

	if (err)
		return err;
	unpacking->at += n;
	unpacking->stream.next_in = unpacking->in;
	unpacking->stream.avail_in = n;
	return 0;
}

static int unpacking_flush(struct unpacking *unpacking)
{
	size_t n = BUFFER_BYTES - unpacking->stream.avail_out;
	int err;

	if (n > UNPACKED_MAX - unpacking->written)
		return -EFBIG;
	err = fd_write(unpacking->fd, unpacking->out, n, (off_t)unpacking->written);
	if (err)
		return err;
	unpacking->written += n;
	unpacking->stream.next_out = unpacking->out;
	unpacking->stream.avail_out = BUFFER_BYTES;
	return 0;
}

static int unpacking_run(struct unpacking *unpacking)
{
	lzma_ret ret = LZMA_OK;
	int err = 0;

	unpacking->stream.next_out = unpacking->out;
	unpacking->stream.avail_out = BUFFER_BYTES;
	while (ret == LZMA_OK && !err) {
		if (!unpacking->stream.avail_in)
			err = unpacking_refill(unpacking);
		if (err)
			break;
		ret = lzma_code(&unpacking->stream,
				unpacking->at == unpacking->end ? LZMA_FINISH : LZMA_RUN);
		if (!unpacking->stream.avail_out || ret == LZMA_STREAM_END)
			err = unpacking_flush(unpacking);
	}
	if (err)
		return err;
	if (ret == LZMA_STREAM_END)
		return 0;
	return ret == LZMA_MEM_ERROR || ret == LZMA_MEMLIMIT_ERROR ? -ENOMEM : -ENOEXEC;
}

int debug_file_unpack(struct elf **out, struct elf *file)
{
	const Elf64_Shdr *section = elf_find_section(file, ".gnu_debugdata");
	struct unpacking *unpacking;
	int err;

	if (!section || section->sh_type == SHT_NOBITS ||
	    section->sh_size > UINT64_MAX - section->sh_offset)
		return -ENOENT;
	unpacking = calloc(1, sizeof(*unpacking));
	if (!unpacking)
		return -ENOMEM;
	unpacking->file = file;
	unpacking->at = section->sh_offset;
	unpacking->end = section->sh_offset + section->sh_size;
	unpacking->fd = memory_file_open("asprof-debugdata");
	err = unpacking->fd < 0 ? unpacking->fd : 0;
	if (err)
		goto out;
	if (lzma_stream_decoder(&unpacking->stream, LZMA_MEMORY, 0) != LZMA_OK)
		err = -ENOMEM;
	if (!err)
		err = unpacking_run(unpacking);
	lzma_end(&unpacking->stream);
	if (!err) {
		err = elf_open_fd(out, unpacking->fd);
		unpacking->fd = -1; /* the reader owns it now */
	}
out:
	if (unpacking->fd >= 0)
		close(unpacking->fd);
	free(unpacking);
	return err;
}
