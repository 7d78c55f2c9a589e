/* All files of a command read into one result. */
#include "decoder/commands/reading.h"

#include <errno.h>

#include "decoder/input/file_feed.h"
#include "decoder/output/say.h"

int reading_status(int err)
{
	if (err == -ENOMEM)
		say("out of memory");
	return err ? COMMAND_FAILED : COMMAND_OK;
}

int read_profile(struct profile *profile, const struct args *args, char **files, int count,
		 uint32_t metrics)
{
	struct feed *feed = NULL;
	int err = file_feed_open(&feed, &args->selection, files, count);

	if (!err)
		err = profile_read(profile, &args->query, feed, metrics);
	file_feed_close(feed);
	return reading_status(err);
}

int read_heap(struct heap *heap, const struct args *args)
{
	int err = file_feed_open(&heap->feed, &args->selection, args->files, args->file_count);

	heap->query = &args->query;
	if (!err)
		err = heap_read(heap);
	file_feed_close(heap->feed);
	heap->feed = NULL;
	return reading_status(err);
}

int read_libraries(struct libraries *libraries, const struct args *args)
{
	struct feed *feed = NULL;
	int err = file_feed_open(&feed, &args->selection, args->files, args->file_count);

	if (!err)
		libraries_read(libraries, feed);
	err = feed && feed->failed ? -EIO : err;
	file_feed_close(feed);
	return reading_status(err);
}
