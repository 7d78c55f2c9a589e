/* The cost of the encoder: nanoseconds and bytes per event, and the pools at a chunk's end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "engine/jfr/jfr_write.h"

#define STACKS 2000
#define DEPTH  30
#define EVENTS 1000000u
#define TIDS   100

static uintptr_t stacks[STACKS][DEPTH];
static uint32_t ids[STACKS];
static char names[65536][24];

/* Stacks of one program: few roots, many leaves. */
static void make_stacks(void)
{
	unsigned seed = 1;
	size_t i, d;

	for (i = 0; i < STACKS; i++)
		for (d = 0; d < DEPTH; d++)
			stacks[i][d] = 0x555500000000 +
				       (uintptr_t)(rand_r(&seed) % (int)(4096 / (1 + d))) * 16;
}

static int name_pcs(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		    struct jfr_frame_name *out)
{
	size_t i;

	(void)context, (void)is_return;
	for (i = 0; i < count; i++) {
		char *name = names[pcs[i] / 16 % 65536];

		snprintf(name, sizeof(names[0]), "function_%zu", pcs[i] / 64 % 16384);
		out[i] = (struct jfr_frame_name){ .class_name = "libprogram.so",
						  .method_name = name,
						  .type = JFR_FRAME_NATIVE };
	}
	return 0;
}

struct pass {
	const char *name;
	void (*event)(struct jfr_writer *w, uint64_t ticks, uint32_t n);
};

static void intern(struct jfr_writer *w, uint64_t ticks, uint32_t n)
{
	(void)ticks;
	ids[n % STACKS] = jfr_stack(w, stacks[n % STACKS], DEPTH, false);
}

static void execution(struct jfr_writer *w, uint64_t ticks, uint32_t n)
{
	jfr_execution_sample(w, ticks, (pid_t)(4000 + n % TIDS), ids[n % STACKS],
			     JFR_STATE_DEFAULT);
}

static void wall(struct jfr_writer *w, uint64_t ticks, uint32_t n)
{
	jfr_wall_sample(w, ticks, (pid_t)(4000 + n % TIDS), ids[n % STACKS], JFR_STATE_SLEEPING, 1,
			0);
}

static void allocation(struct jfr_writer *w, uint64_t ticks, uint32_t n)
{
	jfr_malloc(w, ticks, (pid_t)(4000 + n % TIDS), ids[n % STACKS], 0x7f0012340000 + n * 64ull,
		   n % 4096, 524288);
}

static void release(struct jfr_writer *w, uint64_t ticks, uint32_t n)
{
	jfr_free(w, ticks, (pid_t)(4000 + n % TIDS), 0, 0x7f0012340000 + n * 64ull, 524288,
		 ticks - 1000000);
}

static const struct pass passes[] = {
	{ "jfr_stack, 30 frames, known", intern }, /* except in the first round */
	{ "jdk.ExecutionSample", execution },      { "profiler.WallClockSample", wall },
	{ "profiler.Malloc", allocation },         { "profiler.Free", release },
};

static void run(struct jfr_writer *w, const struct pass *pass)
{
	uint64_t ticks = clock_ticks(), bytes = jfr_chunk_bytes(w), start = clock_monotonic_ns();
	uint32_t n;

	for (n = 0; n < EVENTS; n++)
		pass->event(w, ticks + n, n);
	printf("%-32s %8.1f ns %8.1f bytes\n", pass->name,
	       (double)(clock_monotonic_ns() - start) / EVENTS,
	       (double)(jfr_chunk_bytes(w) - bytes) / EVENTS);
}

static int end(struct jfr_writer *w, const char *what)
{
	uint64_t bytes = jfr_chunk_bytes(w), start = clock_monotonic_ns();
	off_t behind;
	int err;

	err = jfr_chunk_end(w, clock_realtime_ns(), clock_ticks(), name_pcs, NULL, &behind);
	if (!err)
		printf("%-32s %8.2f ms %8.0f bytes\n", what,
		       (double)(clock_monotonic_ns() - start) / 1e6,
		       (double)((uint64_t)behind - bytes));
	return err;
}

/* Twenty million malloc/free pairs of 528 bytes on average, sampled every 512 KiB, as in a memory
 * writer. */
static int memory_recording(int fd)
{
	const uint32_t samples = 20000000ull * 528 / 524288;
	struct jfr_writer *w = NULL;
	uint64_t start = clock_ticks(), start_ns = clock_realtime_ns();
	off_t behind = 0;
	uint32_t n;
	int err;

	err = jfr_writer_open(&w, fd, 0);
	if (err)
		return err;
	jfr_writer_memory_only(w, arch_microsecond_shift(), JFR_ALONE);
	err = jfr_chunk_begin(w, start_ns, start);
	for (n = 0; !err && n < samples; n++) {
		uint64_t ticks = start + n * 100000ull; /* two seconds in total */

		ids[n % STACKS] = jfr_stack(w, stacks[n % 20], DEPTH, false);
		jfr_malloc(w, ticks, getpid(), ids[n % STACKS], 0x7f0012340000 + n * 64ull,
			   16 + n % 1025, 524288 + n % 1025);
		jfr_free(w, ticks + 200, getpid(), 0, 0x7f0012340000 + n * 64ull, 524288 + n % 1025,
			 ticks);
	}
	if (!err)
		err = jfr_chunk_end(w, start_ns + 2000000000, start + n * 100000ull, name_pcs, NULL,
				    &behind);
	printf("%-32s %8u samples %5.0f bytes, %.1f a pair\n", "20 million pairs at 512k", samples,
	       (double)behind, (double)behind / samples);
	jfr_writer_close(w);
	return err;
}

int main(void)
{
	struct jfr_writer *w = NULL;
	int fd = memfd_create("bench", MFD_CLOEXEC), err;
	size_t i;

	make_stacks();
	err = jfr_writer_open(&w, fd, 0);
	if (!err)
		err = jfr_chunk_begin(w, clock_realtime_ns(), clock_ticks());
	for (i = 0; !err && i < sizeof(passes) / sizeof(*passes); i++)
		run(w, &passes[i]);
	if (!err)
		err = end(w, "pools of 2000 stacks");
	if (!err)
		err = memory_recording(fd);
	if (err)
		fprintf(stderr, "%s\n", strerror(-err));
	jfr_writer_close(w);
	close(fd);
	return err ? 1 : 0;
}
