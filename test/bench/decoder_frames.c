/* Writes a recording whose flame graph has the given number of frames, to see how a large one is
 * drawn: decoder_frames OUT FRAMES. Each stack has 40 frames and shares a random part of the
 * previous one. Without arguments it does nothing, successfully. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/jfr/jfr_write.h"

#define DEPTH        40
#define NAMES        4000
#define CHUNK_FRAMES 20000
#define START_NS     1700000000000000000ull
#define SECOND       1000000000ull

static char names[NAMES][32];

static int name_frames(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		       struct jfr_frame_name *out)
{
	(void)context;
	(void)is_return;
	for (size_t i = 0; i < count; i++) {
		out[i].class_name = "synthetic";
		out[i].method_name = names[pcs[i] % NAMES];
		out[i].type = JFR_FRAME_NATIVE;
	}
	return 0;
}

static void write_samples(struct jfr_writer *w, uint64_t ticks, long frames)
{
	static uint64_t state = 88172645463325252u;
	static uintptr_t pcs[DEPTH]; /* leaf first */
	long made = 0;

	while (made < frames) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		long fresh = pcs[0] ? 1 + (long)(state >> 33) % 19 : DEPTH;

		for (long i = 0; i < fresh; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			pcs[i] = 1 + (state >> 33) % NAMES;
		}
		made += fresh;
		jfr_execution_sample(w, ++ticks, 1, jfr_stack(w, pcs, DEPTH, false),
				     JFR_STATE_DEFAULT);
	}
}

int main(int argc, char **argv)
{
	struct jfr_writer *w = NULL;
	uint64_t n = 0;
	off_t end;
	int fd, err;

	if (argc != 3)
		return 0;
	for (unsigned i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "function_%u::call", i);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	err = fd < 0 ? -1 : jfr_writer_open(&w, fd, 0);
	/* The stacks of a chunk fit into the writer. */
	for (long left = fd < 0 || err ? 0 : strtol(argv[2], NULL, 10); left > 0 && !err;
	     left -= CHUNK_FRAMES, n++) {
		err = jfr_chunk_begin(w, START_NS + n * SECOND, (n + 1) * SECOND);
		if (err)
			break;
		write_samples(w, (n + 1) * SECOND, left < CHUNK_FRAMES ? left : CHUNK_FRAMES);
		err = jfr_chunk_end(w, START_NS + (n + 1) * SECOND, (n + 2) * SECOND, name_frames,
				    NULL, &end);
	}
	jfr_writer_close(w);
	if (fd >= 0)
		close(fd);
	return err ? 1 : 0;
}
