/* Input of a command: all of its files read into one result. */
#include "decoder/commands/command_input.h"

#include <errno.h>

#include "decoder/input/file_feed.h"
#include "decoder/output/message.h"
#include "profile/waits/owner_stacks.h"

int command_status_from_error(int err)
{
	if (err == -ENOMEM)
		message_print("out of memory");
	return err ? COMMAND_FAILED : COMMAND_OK;
}

static void print_losses(const struct args *args, const char *of, const struct losses *losses,
			 bool live)
{
	char text[512];

	if (losses_text(losses, live, text, sizeof(text)))
		message_print("%s: %s%s", args->command, of, text);
}

void command_print_losses(const struct args *args, const struct losses *losses)
{
	print_losses(args, "", losses, false);
}

static int read_files(struct profile *profile, const struct query *query,
		      const struct selection *selection, char **files, int count, uint32_t metrics,
		      bool blocked_by)
{
	struct feed *feed = NULL;
	int err = file_feed_open(&feed, selection, files, count);

	if (!err)
		err = profile_read(profile, query, feed, metrics);
	file_feed_close(feed);
	/* To spread weights would move them to other times. */
	if (err != -ENOMEM && blocked_by &&
	    ((!query->times && owner_stacks_spread(profile)) || owner_stacks_append(profile)))
		err = -ENOMEM;
	return command_status_from_error(err);
}

int command_read_profile(struct profile *profile, const struct args *args, uint32_t metrics)
{
	int status = read_files(profile, &args->query, &args->selection, args->files,
				args->file_count, metrics, args->blocked_by);

	print_losses(args, "", &profile->losses, args->metric == METRIC_LIVE);
	return status;
}

int command_read_base(struct profile *profile, const struct args *args, uint32_t metrics)
{
	struct query query = args->query;
	int status;

	if (args->base_from.kind || args->base_to.kind) {
		query.from = args->base_from;
		query.to = args->base_to;
		query.length_ns = 0;
	}
	status = read_files(profile, &query, &args->base_selection, args->base, args->base_count,
			    metrics, args->blocked_by);
	print_losses(args, "of the base, ", &profile->losses, args->metric == METRIC_LIVE);
	if (status == COMMAND_OK && !profile->count)
		message_print("%s: nothing to compare with: the base has no samples of this kind",
			      args->command);
	return status;
}

int command_read_heap(struct heap *heap, const struct args *args)
{
	int err = file_feed_open(&heap->feed, &args->selection, args->files, args->file_count);

	heap->query = &args->query;
	if (!err)
		err = heap_read(heap);
	file_feed_close(heap->feed);
	heap->feed = NULL;
	print_losses(args, "", &heap->profile.losses, heap->want_snapshots);
	return command_status_from_error(err);
}

int command_read_libraries(struct libraries *libraries, const struct args *args)
{
	struct feed *feed = NULL;
	int err = file_feed_open(&feed, &args->selection, args->files, args->file_count);

	if (!err)
		libraries_read(libraries, feed);
	err = feed && feed->failed ? -EIO : err;
	file_feed_close(feed);
	return command_status_from_error(err);
}
