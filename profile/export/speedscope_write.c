/* Writer of speedscope's JSON. */
#include <inttypes.h>
#include <string.h>

#include "profile/basics/text.h"
#include "profile/export/export.h"

struct speedscope {
	FILE *file;
	const struct timed_store *store;
	int64_t start_ns;
	bool any; /* a profile was written */
};

/* Frames of the profile are numbered from 0; marks follow. */
static void write_frames(const struct speedscope *s)
{
	const struct profile *p = &s->store->profile;

	for (uint32_t id = 1; id <= p->frames.count; id++) {
		const struct frame *frame = profile_frame(p, id);
		uint32_t file = frame->file ? frame->file : frame->module;

		fprintf(s->file, "%s{\"name\":", id > 1 ? ",\n" : "");
		json_string(s->file, intern_text(&p->names, frame->name));
		if (file) {
			fputs(",\"file\":", s->file);
			json_string(s->file, intern_text(&p->names, file));
		}
		if (frame->line)
			fprintf(s->file, ",\"line\":%" PRIu32, frame->line);
		fputc('}', s->file);
	}
	for (int kind = 0; kind < TIMED_MARKS; kind++)
		fprintf(s->file, "%s{\"name\":\"[%s]\"}", p->frames.count || kind ? ",\n" : "",
			timed_mark_names[kind]);
}

static void write_head(struct speedscope *s, const char *type, const char *name, const char *unit,
		       int64_t start, double end)
{
	fprintf(s->file, "%s{\"type\":\"%s\",\"name\":", s->any ? ",\n" : "", type);
	json_string(s->file, name);
	fprintf(s->file, ",\"unit\":\"%s\",\"startValue\":%" PRId64 ",\"endValue\":", unit, start);
	json_number(s->file, end);
	s->any = true;
}

static void write_stack(const struct speedscope *s, uint32_t stack, bool first)
{
	uint32_t depth;
	const uint32_t *frames = export_stack(s->store, stack, &depth);

	fputs(first ? "[" : ",[", s->file);
	for (uint32_t i = depth; i; i--)
		fprintf(s->file, "%s%" PRIu32, i < depth ? "," : "", frames[i - 1] - 1);
	fputc(']', s->file);
}

/* Walk over the samples of GROUP and the gaps between them, in the order of time; gaps only if
 * IS_TIMED. Prints the stacks, or the weights. */
static void write_samples(const struct speedscope *s, const struct timed_group *group,
			  bool is_timed, bool stacks)
{
	double cursor = 0;
	bool first = true;

	for (uint64_t i = group->from; i < group->to; i++) {
		const struct timed_sample *sample = &s->store->samples[i];
		double weight = sample->total > 0 ? sample->total : sample->count;
		double gap = (double)(sample->time_ns - s->start_ns) - cursor;

		if (is_timed && gap >= 1) {
			if (stacks)
				fputs(first ? "[]" : ",[]", s->file);
			else
				fprintf(s->file, "%s%.0f", first ? "" : ",", gap);
			cursor += gap;
			first = false;
		}
		if (stacks) {
			write_stack(s, sample->stack, first);
		} else {
			fputs(first ? "" : ",", s->file);
			json_number(s->file, weight);
		}
		cursor += weight;
		first = false;
	}
}

static const char *group_unit(const struct speedscope *s, const struct timed_group *group,
			      bool *is_timed)
{
	bool known = s->store->samples[group->from].total > 0;

	*is_timed = known && (group->metric == METRIC_CPU || group->metric == METRIC_WALL ||
			      group->metric == METRIC_LOCK);
	return !known ? "none" : *is_timed ? "nanoseconds" : "bytes";
}

static double group_weight(const struct speedscope *s, const struct timed_group *group,
			   bool is_timed)
{
	double cursor = 0;

	for (uint64_t i = group->from; i < group->to; i++) {
		const struct timed_sample *sample = &s->store->samples[i];
		double at = (double)(sample->time_ns - s->start_ns);

		if (is_timed && at - cursor >= 1)
			cursor = at;
		cursor += sample->total > 0 ? sample->total : sample->count;
	}
	return cursor;
}

static void write_group(struct speedscope *s, const struct timed_group *group)
{
	char name[EXPORT_NAME_MAX];
	bool is_timed;
	const char *unit = group_unit(s, group, &is_timed);

	export_group_name(s->store, group, name);
	write_head(s, "sampled", name, unit, 0, group_weight(s, group, is_timed));
	fputs(",\"samples\":[", s->file);
	write_samples(s, group, is_timed, true);
	fputs("],\"weights\":[", s->file);
	write_samples(s, group, is_timed, false);
	fputs("]}", s->file);
}

/* Write the marks of KIND of LIST, THREAD's, those with a duration. The format requires that they do not
 * overlap. */
static void write_marks(struct speedscope *s, uint32_t kind, uint32_t thread, const uint32_t *list,
			uint32_t count)
{
	uint32_t frame = s->store->profile.frames.count + kind;
	char name[EXPORT_NAME_MAX], who[256] = "";
	int64_t end = s->start_ns;
	bool any = false;

	if (thread)
		profile_thread_name(&s->store->profile, thread, who, sizeof(who));
	snprintf(name, sizeof(name), "%s %s", timed_mark_names[kind], who);
	write_head(s, "evented", name, "nanoseconds", 0,
		   (double)(s->store->profile.end_ns - s->start_ns));
	fputs(",\"events\":[", s->file);
	for (uint32_t i = 0; i < count; i++) {
		const struct timed_mark *mark = &s->store->marks[list[i]];
		int64_t start;

		if (mark->kind != kind || mark->duration_ns <= 0 ||
		    !export_clip_mark(mark, &end, &start))
			continue;
		fprintf(s->file,
			"%s{\"type\":\"O\",\"frame\":%" PRIu32 ",\"at\":%" PRId64
			"},{\"type\":\"C\",\"frame\":%" PRIu32 ",\"at\":%" PRId64 "}",
			any ? "," : "", frame, start - s->start_ns, frame, end - s->start_ns);
		any = true;
	}
	fputs("]}", s->file);
}

/* Write a profile for each kind and thread of marks with a duration. */
static void write_all_marks(struct speedscope *s)
{
	for (uint32_t thread = 0; thread <= s->store->profile.threads.count; thread++) {
		bool kinds[TIMED_MARKS] = { false };
		uint32_t count;
		const uint32_t *list = timed_store_marks(s->store, thread, &count);

		for (uint32_t i = 0; i < count; i++)
			kinds[s->store->marks[list[i]].kind] |=
				s->store->marks[list[i]].duration_ns > 0;
		for (uint32_t kind = 0; kind < TIMED_MARKS; kind++)
			if (kinds[kind])
				write_marks(s, kind, thread, list, count);
	}
}

int speedscope_write(FILE *file, const struct timed_store *store, const char *title)
{
	struct speedscope s = { .file = file, .store = store, .start_ns = store->profile.start_ns };

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
	      "\"exporter\":\"asprof-agent " ASPROF_AGENT_VERSION "\",\"name\":",
	      file);
	json_string(file, title);
	fputs(",\"activeProfileIndex\":0,\"shared\":{\"frames\":[", file);
	write_frames(&s);
	fputs("]},\n\"profiles\":[", file);
	for (uint32_t i = 0; i < store->group_count; i++)
		write_group(&s, &store->groups[i]);
	write_all_marks(&s);
	fputs("]}\n", file);
	return 0;
}
