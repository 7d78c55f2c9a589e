/* The timeline: its data, and the embedded files of profile/timeline. */
#include "profile/timeline/timeline.h"

#include <inttypes.h>

#include "profile/page/page.h"
#include "profile/page/page_stacks.h"

PAGE_EMBED(timeline_script, "profile/timeline/timeline.js");
PAGE_EMBED(timeline_style, "profile/timeline/timeline.css");
PAGE_EMBED(timeline_html, "profile/timeline/timeline.html");
extern const char timeline_script[], timeline_style[], timeline_html[];

/* Write a mark: kind, start and duration in milliseconds, thread, labels of the recording, text. */
static void timeline_write_mark(FILE *out, const struct profile *profile,
				const struct timed_mark *mark, int64_t start_ms)
{
	char thread[256] = "";

	if (mark->thread)
		profile_thread_name(profile, mark->thread, thread, sizeof(thread));
	fprintf(out, "[%u,%.3f,%.3f,", mark->kind, (double)mark->time_ns / 1e6 - (double)start_ms,
		(double)mark->duration_ns / 1e6);
	page_json_string(out, thread);
	fputc(',', out);
	page_json_string(out, intern_text(&profile->names, mark->labels));
	fputc(',', out);
	page_json_string(out, intern_text(&profile->names, mark->text));
	fputc(']', out);
}

static void timeline_write_meta(FILE *out, const struct page_part *part,
				const struct page_stacks *stacks)
{
	const struct timeline *timeline = (const struct timeline *)part;
	const struct profile *profile = &timeline->timed->profile;
	const struct timed_mark *marks = (const void *)timeline->timed->marks.data;
	size_t count = timeline->timed->marks.length / sizeof(*marks);

	fprintf(out,
		",\"timeline\":{\"start_ms\":%" PRId64
		",\"row_ms\":%u,\"rows\":%u,\"interval_ns\":%" PRId64 ",\"kinds\":[",
		stacks->start_ms, stacks->row_ms, stacks->rows, profile->periods[timeline->metric]);
	for (int kind = 0; kind < TIMED_MARKS; kind++)
		fprintf(out, "%s\"%s\"", kind ? "," : "", timed_mark_names[kind]);
	fputs("],\"marks\":[", out);
	for (size_t i = 0; i < count; i++) {
		if (i)
			fputs(",\n", out);
		timeline_write_mark(out, profile, &marks[i], stacks->start_ms);
	}
	fprintf(out, "],\"marks_cut\":%" PRIu64 "}", timeline->timed->marks_cut);
}

void timeline_init(struct timeline *timeline, const struct timed_profile *timed, enum metric metric)
{
	*timeline = (struct timeline){ .part = { .style = timeline_style,
						 .html = timeline_html,
						 .script = timeline_script,
						 .row_ms = 1,
						 .write_meta = timeline_write_meta },
				       .timed = timed,
				       .metric = metric };
}
