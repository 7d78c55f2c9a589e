/* Spans of traces, from the contexts of samples. */
#include "profile/timed/timed_spans.h"

#include <stdio.h>
#include <string.h>

#include "profile/basics/text.h"

/* Returns the ID of the text "SPAN of trace TRACE" for CONTEXT; 0: it has no span. */
static uint32_t span_text(struct intern *names, uint32_t context)
{
	const char *lines = intern_text(names, context);
	const char *span = text_find_line(lines, "span_id", true);
	const char *trace = text_find_line(lines, "trace_id", true);
	char text[160];

	if (!span)
		return 0;
	snprintf(text, sizeof(text), "%.*s%s%.*s", (int)strcspn(span, "\n"), span,
		 trace ? " of trace " : "", trace ? (int)strcspn(trace, "\n") : 0,
		 trace ? trace : "");
	text_clean_string(text);
	return intern_string(names, text);
}

int timed_spans_add(struct profile *profile, const struct timed_sample *samples,
		    const struct timed_group *group,
		    int (*add)(void *arg, const struct timed_mark *mark), void *arg)
{
	const struct thread_key *key = intern_key(&profile->threads, group->thread);
	struct timed_mark mark = { .kind = TIMED_SPAN,
				   .thread = group->thread,
				   .labels = key->labels };
	uint32_t context = 0, span = 0;
	int err = 0;

	for (uint64_t i = group->from; i < group->to && !err; i++) {
		const struct timed_sample *s = &samples[i];
		int64_t end = s->time_ns + s->duration_ns;

		if (s->context != context)
			span = s->context ? span_text(&profile->names, s->context) : 0;
		context = s->context;
		if (span != mark.text) {
			err = mark.text ? add(arg, &mark) : 0;
			mark.text = span;
			mark.time_ns = s->time_ns;
			mark.duration_ns = 0;
		}
		if (end > mark.time_ns + mark.duration_ns)
			mark.duration_ns = end - mark.time_ns;
	}
	return !err && mark.text ? add(arg, &mark) : err;
}
