/* Writes a recording of malloc and free events for the decoder's benchmark, and for other tests of
 * large recordings: decoder_data MODEL OUT MEGABYTES [KEPT]. Types and constants are those of
 * MODEL's first chunk. The events are like those of a program with eight threads that allocate and
 * free, with one allocation in KEPT kept (100; 1: all): buffers of 64 KiB per thread, chunks of at
 * most 100 MB. Without arguments it does nothing, successfully. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/jfr/jfr_read.h"

#define THREADS     8
#define BUFFER_SIZE 65536
#define HEADER_SIZE 68
#define LIVE        64 /* allocations that a thread holds at a time */

struct thread {
	uint8_t buffer[BUFFER_SIZE];
	size_t used;
	uint64_t held[LIVE], next_address;
};

struct model {
	const uint8_t *data;
	struct jfr_chunk chunk;
	uint64_t malloc_id, free_id;
	uint64_t stacks[256], threads[THREADS];
	unsigned stack_count, thread_count;
};

static uint64_t ticks, state = 88172645463325252u, kept = 100, chunk_size = 100u << 20;

static uint64_t random_number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint8_t *put(uint8_t *p, uint64_t value)
{
	unsigned i;

	for (i = 0; i < 8 && value >= 0x80; i++, value >>= 7)
		*p++ = (uint8_t)(value | 0x80);
	*p++ = (uint8_t)value;
	return p;
}

static void put_event(struct thread *t, const struct model *m, unsigned who, uint64_t address,
		      uint64_t size)
{
	uint8_t *start = t->buffer + t->used, *p = start + 1;

	p = put(p, size ? m->malloc_id : m->free_id);
	p = put(p, ticks);
	p = put(p, m->threads[who % m->thread_count]);
	p = put(p, size ? m->stacks[random_number() % m->stack_count] : 0);
	p = put(p, address);
	if (size)
		p = put(p, size);
	*start = (uint8_t)(p - start);
	t->used += (size_t)(p - start);
}

static void step(struct thread *t, const struct model *m, unsigned who)
{
	uint64_t choice = random_number(), *held = &t->held[choice % LIVE];

	ticks += 50 + choice % 100;
	if (*held && choice % kept) {
		put_event(t, m, who, *held, 0);
		if (t->next_address - *held < 4096)
			t->next_address = *held; /* an allocator reuses recent blocks */
	}
	ticks += 30;
	t->next_address += 16 + (choice >> 32) % 512 / 16 * 16;
	*held = t->next_address;
	put_event(t, m, who, *held, 16 + (choice >> 32) % 1024);
}

static void put_be64(uint8_t *p, uint64_t value)
{
	value = __builtin_bswap64(value);
	memcpy(p, &value, sizeof(value));
}

/* Since the model's start. */
static uint64_t to_ns(const struct model *m, uint64_t at)
{
	return (uint64_t)((double)(at - (uint64_t)m->chunk.header.start_ticks) * 1e9 /
			  (double)m->chunk.header.ticks_per_second);
}

/* One chunk's events, then the model's metadata and constants. */
static void write_chunk(FILE *out, const struct model *m, struct thread *threads)
{
	const uint8_t *metadata = m->data + m->chunk.header.metadata;
	const uint8_t *constants = m->data + m->chunk.header.constants;
	struct cursor c = { metadata, m->data + m->chunk.header.size, false };
	uint64_t metadata_size = cursor_varint(&c), constants_size, written = HEADER_SIZE;
	uint64_t started = ticks;
	uint8_t header[HEADER_SIZE];

	c.at = constants;
	constants_size = cursor_varint(&c);
	memcpy(header, m->data, sizeof(header));
	fwrite(header, 1, sizeof(header), out);
	while (written < chunk_size) {
		unsigned who = (unsigned)(random_number() % THREADS);
		struct thread *t = &threads[who];

		step(t, m, who);
		if (t->used + 128 > BUFFER_SIZE || written + (THREADS * t->used) > chunk_size) {
			fwrite(t->buffer, 1, t->used, out);
			written += t->used;
			t->used = 0;
		}
	}
	for (unsigned i = 0; i < THREADS; i++) {
		fwrite(threads[i].buffer, 1, threads[i].used, out);
		written += threads[i].used;
		threads[i].used = 0;
	}
	fwrite(metadata, 1, metadata_size, out);
	fwrite(constants, 1, constants_size, out);
	put_be64(header + 8, written + metadata_size + constants_size);
	put_be64(header + 16, written + metadata_size);
	put_be64(header + 24, written);
	put_be64(header + 32, (uint64_t)m->chunk.header.start_ns + to_ns(m, started));
	put_be64(header + 40, to_ns(m, ticks) - to_ns(m, started));
	put_be64(header + 48, started);
	fseek(out, -(long)(written + metadata_size + constants_size), SEEK_CUR);
	fwrite(header, 1, sizeof(header), out);
	fseek(out, 0, SEEK_END);
}

static int read_model(struct model *m, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct jfr_error error;
	struct jfr_header header;
	struct jfr_event event;
	struct jfr_scan scan;
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		return -errno;
	m->data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (m->data == MAP_FAILED ||
	    jfr_header_read(&header, m->data, (uint64_t)status.st_size, 0, &error) ||
	    jfr_chunk_open(&m->chunk, m->data, &header))
		return -EBADMSG;
	ticks = (uint64_t)header.start_ticks;
	jfr_scan_start(&scan, &m->chunk, JFR_MASK(JFR_MALLOC) | JFR_MASK(JFR_EXECUTION_SAMPLE));
	while (jfr_scan_next(&scan, &event)) {
		if (m->stack_count < 256)
			m->stacks[m->stack_count++] = (uint64_t)event.slot[JFR_STACK];
		if (m->thread_count < THREADS)
			m->threads[m->thread_count++] = (uint64_t)event.slot[JFR_THREAD];
	}
	if (!jfr_type_by_name(&m->chunk, "profiler.Malloc") ||
	    !jfr_type_by_name(&m->chunk, "profiler.Free") || !m->stack_count)
		return -EINVAL;
	m->malloc_id = (uint64_t)jfr_type_by_name(&m->chunk, "profiler.Malloc")->id;
	m->free_id = (uint64_t)jfr_type_by_name(&m->chunk, "profiler.Free")->id;
	return 0;
}

int main(int argc, char **argv)
{
	static struct thread threads[THREADS];
	static struct model model;
	uint64_t size;
	FILE *out;

	if (argc < 4)
		return 0;
	if (argc > 4)
		kept = strtoull(argv[4], NULL, 10) ?: 1;
	if (read_model(&model, argv[1])) {
		fprintf(stderr, "%s: not a model\n", argv[1]);
		return 1;
	}
	size = strtoull(argv[3], NULL, 10) << 20;
	if (size < chunk_size)
		chunk_size = size;
	out = fopen(argv[2], "wb");
	if (!out)
		return 1;
	for (unsigned i = 0; i < THREADS; i++)
		threads[i].next_address = 0x7f0000000000u + ((uint64_t)i << 32);
	while ((uint64_t)ftell(out) < size)
		write_chunk(out, &model, threads);
	jfr_chunk_close(&model.chunk);
	return fclose(out) ? 1 : 0;
}
