/* One chunk after another, in the order of the files. */
#include "decoder/commands/chunk_visit.h"

#include <errno.h>

#include "decoder/input/file_feed.h"
#include "decoder/output/message.h"

static void chunk_filter_open(struct wants *w, struct jfr_chunk *chunk,
			      const struct feed_chunk *from)
{
	period_ticks(&w->period, &chunk->header, &w->from, &w->to);
	w->chunk = chunk;
	w->of = from;
}

static void chunk_filter_close(struct wants *w)
{
	if (w->open)
		resolve_close(&w->resolve);
	w->open = false;
}

static struct resolve *chunk_filter_resolve(struct wants *w)
{
	if (!w->open) {
		resolve_open(&w->resolve, &w->profile, &w->args->query, w->chunk, w->of);
		filter_set_recording(&w->filter, w->resolve.labels);
	}
	w->open = true;
	return &w->resolve;
}

static uint32_t event_context(struct wants *w, const struct jfr_event *event)
{
	return resolve_context(chunk_filter_resolve(w), (uint64_t)event->slot[JFR_CONTEXT]);
}

bool chunk_filter_accepts_event(struct wants *w, const struct jfr_event *event)
{
	uint32_t thread, stack;

	if (event->slot[JFR_TIME] < w->from || event->slot[JFR_TIME] > w->to)
		return false;
	if (w->filters_contexts && !filter_context(&w->filter, event_context(w, event)))
		return false;
	if (!w->by_name)
		return true;
	thread = resolve_thread(chunk_filter_resolve(w), (uint64_t)event->slot[JFR_THREAD]);
	if (!filter_thread(&w->filter, thread))
		return false;
	stack = resolve_stack(&w->resolve, (uint64_t)event->slot[JFR_STACK], 0, JFR_FRAME_NATIVE);
	return filter_stack(&w->filter, stack, thread);
}

bool chunk_filter_accepts_time(struct wants *w, int64_t ticks)
{
	if (w->filters_contexts)
		chunk_filter_resolve(w);
	return ticks >= w->from && ticks <= w->to && !w->by_name && filter_context(&w->filter, 0);
}

const char *chunk_filter_context(struct wants *w, const struct jfr_event *event)
{
	return intern_text(&w->profile.names, event_context(w, event));
}

int chunk_visit_all(const struct args *args,
		    int (*each)(void *arg, struct jfr_chunk *chunk, const struct feed_chunk *from,
				struct wants *wants),
		    void *arg)
{
	struct wants wants = { .args = args,
			       .by_name = args->query.thread.set || args->query.include.set ||
					  args->query.exclude.set,
			       .filters_contexts = filter_wants_contexts(&args->query),
			       .profile = PROFILE_INIT };
	struct feed *feed = NULL;
	struct feed_chunk from;
	struct jfr_chunk chunk;
	bool failed;
	int err = file_feed_open(&feed, &args->selection, args->files, args->file_count);

	wants.filter = (struct filter){ .query = &args->query, .profile = &wants.profile };
	if (!err && period_resolve(&wants.period, &args->query, feed))
		wants.period = (struct period){ INT64_MIN, INT64_MAX };
	while (!err && feed->calls->next(feed, &from)) {
		err = jfr_chunk_open(&chunk, from.data, &from.header);
		chunk.mapped = true;
		if (!err) {
			chunk_filter_open(&wants, &chunk, &from);
			err = each(arg, &chunk, &from, &wants);
			chunk_filter_close(&wants);
		}
		if (chunk.error.what) {
			feed->calls->damage(feed, &from, &chunk.error);
			err = err == -EBADMSG ? 0 : err;
		}
		jfr_chunk_close(&chunk);
		feed->calls->done(feed, &from);
	}
	if (err == -ENOMEM)
		say("out of memory");
	failed = err || feed->failed;
	file_feed_close(feed);
	filter_free(&wants.filter);
	profile_free(&wants.profile);
	return failed ? COMMAND_FAILED : COMMAND_OK;
}
