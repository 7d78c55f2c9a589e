/* One chunk after another, in the order of the files. */
#include "decoder/chunks.h"

#include <errno.h>

#include "decoder/say.h"

int chunks_read(const struct args *args,
		int (*each)(void *arg, struct jfr_chunk *chunk, const struct feed_chunk *from),
		void *arg)
{
	struct feed *feed = NULL;
	struct feed_chunk from;
	struct jfr_chunk chunk;
	bool failed;
	int err = feed_open(&feed, args->files, args->file_count, false);

	while (!err && feed_next(feed, &from)) {
		err = jfr_chunk_open(&chunk, from.data, &from.header);
		chunk.mapped = true;
		if (!err)
			err = each(arg, &chunk, &from);
		if (chunk.error.what) {
			feed_damage(feed, &from, &chunk.error);
			err = err == -EBADMSG ? 0 : err;
		}
		jfr_chunk_close(&chunk);
		feed_done(feed, &from);
	}
	if (err == -ENOMEM)
		say("out of memory");
	failed = err || feed_failed(feed);
	if (feed)
		feed_close(feed);
	return failed ? COMMAND_FAILED : COMMAND_OK;
}
