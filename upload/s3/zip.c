/* Writer of zip files, limited to reports. The format is PKWARE's APPNOTE.TXT, version 6.3. */
#include "upload/s3/zip.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "core/date.h"
#include "core/fd.h"

#define VERSION_NEEDED  20                        /* 2.0: deflate */
#define VERSION_MADE_BY (3 << 8 | VERSION_NEEDED) /* Unix */
#define FLAG_UTF8       0x0800
#define METHOD_DEFLATE  8
#define ATTRIBUTES      (0100644u << 16) /* a regular file, rw-r--r-- */
#define READ_BYTES      (32u << 10)
#define OUT_BYTES       (64u << 10)

/* Fields that both headers of an entry have. */
struct facts {
	uint16_t version, flags, method;
	uint16_t time, date;
	uint32_t crc, packed, unpacked;
	uint16_t name_length, extra_length;
} __attribute__((packed));

struct local_header {
	uint32_t signature;
	struct facts facts;
} __attribute__((packed));

struct central_header {
	uint32_t signature;
	uint16_t made_by;
	struct facts facts;
	uint16_t comment_length, disk, internal;
	uint32_t external, offset;
} __attribute__((packed));

struct end_record {
	uint32_t signature;
	uint16_t disk, central_disk, entries_here, entries;
	uint32_t central_length, central_offset;
	uint16_t comment_length;
} __attribute__((packed));

struct entry {
	const char *name;
	size_t offset; /* of its local header in the output */
	uint32_t crc;
	uint64_t packed, unpacked;
};

struct packer {
	struct buf *out;
	z_stream stream;
	struct entry *entry;
};

static int zip_deflate(struct packer *packer, const void *data, size_t length, int flush)
{
	z_stream *stream = &packer->stream;
	int err;

	packer->entry->crc = (uint32_t)crc32(packer->entry->crc, data, (uInt)length);
	packer->entry->unpacked += length;
	stream->next_in = (Bytef *)(uintptr_t)data;
	stream->avail_in = (uInt)length;
	do {
		err = buf_reserve(packer->out, OUT_BYTES);
		if (err)
			return err;
		stream->next_out = packer->out->data + packer->out->length;
		stream->avail_out = OUT_BYTES;
		deflate(stream, flush);
		packer->out->length += OUT_BYTES - stream->avail_out;
		packer->entry->packed += OUT_BYTES - stream->avail_out;
	} while (stream->avail_out == 0);
	return 0;
}

static int zip_deflate_part(struct packer *packer, const struct report_part *part)
{
	uint8_t block[READ_BYTES];
	uint64_t done = 0;
	int err = 0;

	while (done < part->length && !err) {
		size_t n = part->length - done < sizeof(block) ? (size_t)(part->length - done)
							       : sizeof(block);

		err = fd_read(part->fd, block, n, part->offset + (off_t)done);
		if (!err)
			err = zip_deflate(packer, block, n, Z_NO_FLUSH);
		done += n;
	}
	return err;
}

static int zip_deflate_content(struct packer *packer, const struct report *report,
			       const char *metadata)
{
	int err = 0;

	if (metadata)
		err = zip_deflate(packer, metadata, strlen(metadata), Z_NO_FLUSH);
	else
		for (size_t i = 0; i < report->part_count && !err; i++)
			err = zip_deflate_part(packer, &report->parts[i]);
	return err ? err : zip_deflate(packer, "", 0, Z_FINISH);
}

/* DOS time counts pairs of seconds from 1980 and has no time zone; UTC is used. */
static struct facts zip_entry_facts(const struct entry *entry, uint64_t ms)
{
	const struct tm date = date_of_ms(ms);
	int years = date.tm_year < 80 ? 0 : date.tm_year - 80;

	return (struct facts){
		.version = htole16(VERSION_NEEDED),
		.flags = htole16(FLAG_UTF8),
		.method = htole16(METHOD_DEFLATE),
		.time = htole16(
			(uint16_t)(date.tm_hour << 11 | date.tm_min << 5 | date.tm_sec / 2)),
		.date = htole16((uint16_t)(years << 9 | (date.tm_mon + 1) << 5 | date.tm_mday)),
		.crc = htole32(entry->crc),
		.packed = htole32((uint32_t)entry->packed),
		.unpacked = htole32((uint32_t)entry->unpacked),
		.name_length = htole16((uint16_t)strlen(entry->name)),
	};
}

/* The local header precedes the data but depends on it: reserve space, then fill it in. */
static int zip_add_entry(struct buf *out, struct entry *entry, const struct report *report,
			 const char *metadata)
{
	struct packer packer = { .out = out, .entry = entry };
	struct local_header header = { .signature = htole32(0x04034b50) };
	int err;

	entry->offset = out->length;
	err = buf_append(out, &header, sizeof(header));
	if (!err)
		err = buf_append_string(out, entry->name);
	if (err)
		return err;
	/* Negative window bits: no zlib header. A window of 32 KiB takes 256 KiB temporarily. */
	if (deflateInit2(&packer.stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	err = zip_deflate_content(&packer, report, metadata);
	deflateEnd(&packer.stream);
	if (!err && (entry->packed > UINT32_MAX || entry->unpacked > UINT32_MAX))
		err = -EFBIG;
	if (err)
		return err;
	header.facts = zip_entry_facts(entry, report->end_ms);
	memcpy(out->data + entry->offset, &header, sizeof(header));
	return 0;
}

static int zip_add_central(struct buf *out, const struct entry *entry, size_t base, uint64_t ms)
{
	const struct central_header header = {
		.signature = htole32(0x02014b50),
		.made_by = htole16(VERSION_MADE_BY),
		.facts = zip_entry_facts(entry, ms),
		.external = htole32(ATTRIBUTES),
		.offset = htole32((uint32_t)(entry->offset - base)),
	};
	int err = buf_append(out, &header, sizeof(header));

	return err ? err : buf_append_string(out, entry->name);
}

static int zip_add_end(struct buf *out, size_t base, size_t central, size_t entries)
{
	struct end_record end = {
		.signature = htole32(0x06054b50),
		.entries_here = htole16((uint16_t)entries),
		.entries = htole16((uint16_t)entries),
		.central_length = htole32((uint32_t)(out->length - central)),
		.central_offset = htole32((uint32_t)(central - base)),
	};

	return buf_append(out, &end, sizeof(end));
}

int zip_report(struct buf *out, const struct report *report, const char *metadata)
{
	struct entry entries[] = { { .name = "async_profiler_dump_0.jfr" },
				   { .name = "metadata.json" } };
	size_t base = out->length, central;
	int err;

	err = zip_add_entry(out, &entries[0], report, NULL);
	if (!err)
		err = zip_add_entry(out, &entries[1], report, metadata);
	central = out->length;
	for (size_t i = 0; i < 2 && !err; i++)
		err = zip_add_central(out, &entries[i], base, report->end_ms);
	if (!err)
		err = zip_add_end(out, base, central, 2);
	return err;
}
