/* One chunk after another, in the order of the files: for commands that print events one by one. */
#ifndef DECODER_CHUNKS_H
#define DECODER_CHUNKS_H

#include "decoder/args.h"
#include "decoder/feed.h"

/* Call EACH for every chunk that can be read; a negative return ends it. SETTINGS are those at the
 * chunk's start. Returns COMMAND_OK, or COMMAND_FAILED after a line on stderr. */
int chunks_read(const struct args *args,
		int (*each)(void *arg, struct jfr_chunk *chunk, const struct feed_chunk *from),
		void *arg);

#endif
