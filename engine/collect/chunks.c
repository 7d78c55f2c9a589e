/* The open chunks: one of samples, and one of native memory. */
#include "engine/collect/chunks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/memory_file.h"
#include "engine/collect/chunk_facts.h"
#include "engine/collect/sample_context.h"
#include "engine/collect/tick_rate.h"
#include "engine/process/proc_file.h"
#include "engine/symbols/frame_names.h"

bool chunks_mem_is_apart(const struct chunks *chunks)
{
	return chunks->mem != chunks->jfr;
}

static void chunks_close_mem(struct chunks *chunks)
{
	if (chunks_mem_is_apart(chunks))
		jfr_writer_close(chunks->mem);
	if (chunks->mem_fd >= 0)
		close(chunks->mem_fd);
	chunks->mem_fd = -1;
	chunks->mem = chunks->jfr;
}

/* Open a writer for native memory only. If that fails, the other writer takes native memory too:
 * its chunks become larger, and are otherwise the same. */
static void chunks_open_mem(struct chunks *chunks)
{
	struct jfr_writer *mem;

	chunks->mem_fd = memory_file_open("asprof-agent");
	if (chunks->mem_fd < 0 || jfr_writer_open(&mem, chunks->mem_fd, 0))
		return chunks_close_mem(chunks);
	jfr_writer_memory_only(mem, arch_microsecond_shift(), JFR_WITH_OWN_CHUNKS);
	chunks->mem = mem;
}

int chunks_open(struct chunks *chunks, int fd, const chunk_settings *samples,
		const chunk_settings *memory, bool has_other_engine)
{
	off_t end = lseek(fd, 0, SEEK_END);
	int err;

	memset(chunks, 0, sizeof(*chunks));
	tick_rate_now(); /* so that the rate is known at the end of the first chunk */
	chunks->mem_fd = -1;
	chunks->opened_realtime_ns = clock_realtime_ns();
	chunks->opened_monotonic_ns = clock_monotonic_ns();
	err = end < 0 ? -errno : jfr_writer_open(&chunks->jfr, fd, end);
	if (err)
		return err;
	chunks->mem = chunks->jfr;
	memcpy(chunks->settings, samples ? samples : memory, sizeof(chunks->settings));
	if (!samples)
		jfr_writer_memory_only(chunks->jfr, arch_microsecond_shift(),
				       has_other_engine ? JFR_WITH_OTHER_ENGINE : JFR_ALONE);
	if (samples && memory) {
		memcpy(chunks->mem_settings, memory, sizeof(chunks->mem_settings));
		chunks_open_mem(chunks);
	}
	return 0;
}

void chunks_set_settings(struct chunks *chunks, const chunk_settings samples,
			 const chunk_settings memory)
{
	memcpy(chunks->settings, samples, sizeof(chunks->settings));
	memcpy(chunks->mem_settings, memory, sizeof(chunks->mem_settings));
}

void chunks_close(struct chunks *chunks)
{
	chunks_close_mem(chunks);
	jfr_writer_close(chunks->jfr);
	chunks->jfr = chunks->mem = NULL;
}

uint64_t chunks_now_ns(const struct chunks *chunks)
{
	return chunks->opened_realtime_ns + clock_monotonic_ns() - chunks->opened_monotonic_ns;
}

/* A larger difference between the clocks is not one of reading them: the wall clock was set, or the machine was suspended.
 * Chunks that begin later have the new time, as other files of this moment do. */
#define CLOCK_STEP_NS 1000000000

static void chunks_follow_wall_clock(struct chunks *chunks)
{
	int64_t step_ns = (int64_t)(clock_realtime_ns() - chunks_now_ns(chunks));

	if (step_ns > CLOCK_STEP_NS || step_ns < -CLOCK_STEP_NS)
		chunks->opened_realtime_ns += (uint64_t)step_ns;
}

static int chunk_begin(const struct chunks *chunks, struct jfr_writer *jfr,
		       const chunk_settings settings)
{
	uint64_t ticks = clock_ticks();
	int err = jfr_chunk_begin(jfr, chunks_now_ns(chunks), ticks);

	for (const struct chunk_setting *s = settings; !err && s->key; s++)
		jfr_setting(jfr, ticks, s->key, s->value);
	return err;
}

int chunks_begin(struct chunks *chunks)
{
	int err;

	chunks_follow_wall_clock(chunks);
	err = chunk_begin(chunks, chunks->jfr, chunks->settings);

	if (!err && chunks_mem_is_apart(chunks) &&
	    chunk_begin(chunks, chunks->mem, chunks->mem_settings))
		chunks_close_mem(chunks);
	return err;
}

void chunks_forget_threads(struct chunks *chunks)
{
	jfr_forget_threads(chunks->jfr);
	if (chunks_mem_is_apart(chunks))
		jfr_forget_threads(chunks->mem);
}

static int chunk_end(const struct chunks *chunks, struct jfr_writer *jfr, struct symbols *symbols,
		     uint64_t ticks)
{
	chunk_modules(jfr, ticks);
	/* All chunks use one rate, because a tick must mean the same second in each of them. The
	 * counter has run since the machine started. The error of a rate from one short chunk would
	 * therefore shift its times by seconds. */
	jfr_writer_calibrated(jfr, tick_rate_now());
	return jfr_chunk_end(jfr, chunks_now_ns(chunks), ticks, frame_names, symbols, NULL);
}

int chunks_end(struct chunks *chunks, struct symbols *symbols, uint64_t ticks)
{
	int err = chunk_end(chunks, chunks->jfr, symbols, ticks), mem_err = 0;

	/* Each chunk ends, also if the other one is lost. */
	if (chunks_mem_is_apart(chunks)) {
		mem_err = chunk_end(chunks, chunks->mem, symbols, ticks);
		if (!mem_err)
			mem_err = jfr_writer_append(chunks->jfr, chunks->mem, NULL);
	}
	return err ? err : mem_err;
}

bool chunks_are_crowded(const struct chunks *chunks)
{
	return chunks->jfr &&
	       (jfr_stacks_are_crowded(chunks->jfr) || jfr_stacks_are_crowded(chunks->mem));
}

void chunks_name_thread(struct chunks *chunks, pid_t tid, const char *name)
{
	jfr_thread(chunks->jfr, tid, name);
	if (chunks_mem_is_apart(chunks))
		jfr_thread(chunks->mem, tid, name);
}

void chunks_name_living_thread(struct chunks *chunks, pid_t tid)
{
	char name[JFR_THREAD_NAME_MAX + 1];
	ssize_t length = proc_file_read_of(tid, "comm", name, sizeof(name));

	if (length <= 0)
		return;
	name[length - 1] = '\0'; /* the newline */
	chunks_name_thread(chunks, tid, name);
}

void chunks_crash(struct chunks *chunks, const struct sample *s)
{
	struct jfr_writer *jfr = chunks->jfr;

	jfr_use_context(jfr, sample_context_id(jfr, sample_context(s)));
	jfr_crash(jfr, s->ticks, s->tid, jfr_stack(jfr, s->pcs, s->count, s->truncated),
		  (int)s->args[0], (int)(int64_t)s->args[1], s->args[2]);
}
