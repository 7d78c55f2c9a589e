/* Visits the chunks of recordings in order. */
#include "decoder/commands/chunk_visit.h"

#include <errno.h>

#include "decoder/input/file_feed.h"
#include "decoder/output/message.h"

static void chunk_filter_open(struct chunk_filter *f, struct jfr_chunk *chunk,
			      const struct feed_chunk *from)
{
	period_ticks(&f->period, &chunk->header, &f->from, &f->to);
	f->chunk = chunk;
	f->of = from;
}

static void chunk_filter_close(struct chunk_filter *f)
{
	if (f->has_names)
		resolve_close(&f->resolve);
	f->has_names = false;
}

static struct resolve *chunk_filter_resolve(struct chunk_filter *f)
{
	if (!f->has_names) {
		resolve_open(&f->resolve, &f->profile, &f->args->query, f->chunk, f->of);
		filter_set_recording(&f->filter, f->resolve.labels);
	}
	f->has_names = true;
	return &f->resolve;
}

static uint32_t event_context(struct chunk_filter *f, const struct jfr_event *event)
{
	return resolve_context(chunk_filter_resolve(f), (uint64_t)event->slot[JFR_CONTEXT]);
}

bool chunk_filter_accepts_event(struct chunk_filter *f, const struct jfr_event *event)
{
	uint32_t thread, stack;

	if (event->slot[JFR_TIME] < f->from || event->slot[JFR_TIME] > f->to)
		return false;
	if (f->filters_contexts && !filter_context(&f->filter, event_context(f, event)))
		return false;
	if (!f->filters_names)
		return true;
	thread = resolve_thread(chunk_filter_resolve(f), (uint64_t)event->slot[JFR_THREAD]);
	if (!filter_thread(&f->filter, thread))
		return false;
	stack = resolve_stack(&f->resolve, (uint64_t)event->slot[JFR_STACK], 0, JFR_FRAME_NATIVE);
	return filter_stack(&f->filter, stack, thread);
}

bool chunk_filter_accepts_time(struct chunk_filter *f, int64_t ticks)
{
	if (f->filters_contexts)
		chunk_filter_resolve(f);
	return ticks >= f->from && ticks <= f->to && !f->filters_names &&
	       filter_context(&f->filter, 0);
}

const char *chunk_filter_context(struct chunk_filter *f, const struct jfr_event *event)
{
	return intern_text(&f->profile.names, event_context(f, event));
}

int chunk_visit_all(const struct args *args,
		    int (*each)(void *arg, struct jfr_chunk *chunk, const struct feed_chunk *from,
				struct chunk_filter *filter),
		    void *arg)
{
	struct chunk_filter filter = { .args = args,
				       .filters_names = args->query.thread.set ||
							args->query.include.set ||
							args->query.exclude.set,
				       .filters_contexts = filter_wants_contexts(&args->query),
				       .profile = PROFILE_INIT };
	struct feed *feed = NULL;
	struct feed_chunk from;
	struct jfr_chunk chunk;
	bool failed;
	int err = file_feed_open(&feed, &args->selection, args->files, args->file_count);

	filter.filter = (struct filter){ .query = &args->query, .profile = &filter.profile };
	if (!err && period_resolve(&filter.period, &args->query, feed))
		filter.period = (struct period){ INT64_MIN, INT64_MAX };
	while (!err && feed->calls->next(feed, &from)) {
		err = jfr_chunk_open(&chunk, from.data, &from.header);
		chunk.is_mapped_file = true;
		if (!err) {
			chunk_filter_open(&filter, &chunk, &from);
			err = each(arg, &chunk, &from, &filter);
			chunk_filter_close(&filter);
		}
		if (chunk.error.what) {
			feed->calls->damage(feed, &from, &chunk.error);
			err = err == -EBADMSG ? 0 : err;
		}
		jfr_chunk_close(&chunk);
		feed->calls->done(feed, &from);
	}
	if (err == -ENOMEM)
		message_print("out of memory");
	failed = err || feed->failed;
	file_feed_close(feed);
	filter_free(&filter.filter);
	profile_free(&filter.profile);
	return failed ? COMMAND_FAILED : COMMAND_OK;
}
