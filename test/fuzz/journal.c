/* Feed bytes as the records of a journal that a dead process has left, and finish the chunks that they tell
 * of, the events of which are a real one's. A record's checksum is mended first, as chance would never hit it. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/jfr/journal.h"
#include "engine/jfr/jfr_saved.h"
#include "upload/recover/recover_chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A chunk with one sample that nobody has finished. */
static int make_chunk(void)
{
	int fd = memfd_create("chunk", MFD_CLOEXEC);
	const uintptr_t pcs[] = { 0x1000, 0x2000 };
	struct jfr_saved saved = { 0 };
	struct buf records = BUF_INIT(1 << 20);
	struct jfr_writer *jfr;
	uint64_t events;

	if (fd < 0 || jfr_writer_open(&jfr, fd, 0) || jfr_chunk_begin(jfr, 1, 1))
		abort();
	jfr_execution_sample(jfr, 2, 1, jfr_stack(jfr, pcs, 2, false), JFR_STATE_DEFAULT);
	if (jfr_saved_begin(&saved, &records, 0, jfr) ||
	    jfr_saved_add(&saved, &records, 0, jfr, &events))
		abort();
	jfr_saved_free(&saved);
	buf_free(&records);
	jfr_writer_close(jfr);
	return fd;
}

/* A record of the input: kind, writer, two bytes of length, and so many bytes. */
static void put_records(struct buf *out, const uint8_t *data, size_t size)
{
	while (size >= 4) {
		size_t length = (size_t)data[2] << 8 | data[3];

		if (length > size - 4)
			length = size - 4;
		if (journal_put(out, (enum journal_kind)data[0], data[1], data + 4, length))
			return;
		data += 4 + length;
		size -= 4 + length;
	}
}

static void recover(const uint8_t *data, size_t size)
{
	static int chunk = -1, out = -1;
	struct recover_journal *journal;
	uint64_t events, start;
	struct stat st;

	if (chunk < 0) {
		chunk = make_chunk();
		out = memfd_create("out", MFD_CLOEXEC);
	}
	if (out < 0 || ftruncate(out, 0) || fstat(chunk, &st))
		abort();
	if (recover_journal_open(&journal, data, size, 1))
		return;
	for (unsigned writer = 0; writer < 2; writer++)
		if (recover_journal_has(journal, writer, &start) &&
		    recover_journal_finish(journal, writer, chunk, st.st_size, out, &events) &&
		    fstat(out, &st))
			abort();
	recover_journal_close(journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf records = BUF_INIT(1 << 20);

	recover(data, size);
	put_records(&records, data, size);
	recover(records.data ? records.data : data, records.length);
	buf_free(&records);
	return 0;
}
