/* A chunk with the crash of a program that another engine samples. */
#include "engine/collect/crash_chunk.h"

#include <errno.h>

#include "core/clock.h"
#include "engine/collect/builtin.h"
#include "engine/collect/chunks.h"
#include "engine/modules/modules.h"
#include "engine/sample/ring.h"

/* The rings have the size that the builtin engine needs: it may start later, and they are never
 * freed. Untouched pages take no memory. */
int crash_chunk_open(struct wake *collector)
{
	int err = ring_open(SAMPLE_RINGS, SAMPLE_RING_BYTES, collector);

	return err ? err : modules_open();
}

struct crashes {
	int fd, err;
	struct chunks chunks;
};

static int crash_begin(struct crashes *c)
{
	static const chunk_settings settings = { { "version", ASPROF_AGENT_VERSION },
						 { "engine", "builtin" },
						 { "event", "crash" } };
	int err = chunks_open(&c->chunks, c->fd, &settings, NULL, true);

	return err ? err : chunks_begin(&c->chunks);
}

static void crash_write_sample(void *context, const struct sample *s)
{
	struct crashes *c = context;

	if (s->kind != SAMPLE_CRASH)
		return;
	if (c->err == -ENODATA)
		c->err = crash_begin(c);
	if (c->err)
		return;
	chunks_name_living_thread(&c->chunks, s->tid);
	chunks_crash(&c->chunks, s);
}

static int crash_end(struct crashes *c)
{
	struct symbols *symbols;
	int err;

	modules_refresh();
	err = symbols_open(&symbols);
	if (err)
		return err;
	err = chunks_end(&c->chunks, symbols, clock_ticks());
	symbols_close(symbols);
	return err;
}

int crash_chunk_write(int fd)
{
	struct crashes c = { .fd = fd, .err = -ENODATA };
	int err;

	ring_drain(crash_write_sample, &c);
	err = c.err ? c.err : crash_end(&c);
	if (c.chunks.jfr)
		chunks_close(&c.chunks);
	return err;
}
