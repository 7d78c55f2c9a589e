/* Writer of Firefox Profiler's processed profile: src/types/profile.ts of
 * https://github.com/firefox-devtools/profiler. That reader converts older versions. */
#include <errno.h>
#include <inttypes.h>

#include "profile/aggregate/frame_category.h"
#include "profile/basics/text.h"
#include "profile/export/firefox_tables.h"

#define GECKO_VERSION     36
#define PROCESSED_VERSION 70

/* Reader's categories, by enum frame_category; the last is for marks. */
#define CATEGORIES                                                                       \
	"{\"name\":\"Own code\",\"color\":\"green\",\"subcategories\":[\"Other\"]},"     \
	"{\"name\":\"Libraries\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"     \
	"{\"name\":\"Interpreter\",\"color\":\"purple\",\"subcategories\":[\"Other\"]}," \
	"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"      \
	"{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}"
#define CATEGORY_OTHER FRAME_CATEGORIES

#define SCHEMA_FIELDS                                                            \
	"\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"]," \
	"\"tableLabel\":\"{marker.data.text}\",\"fields\":["                     \
	"{\"key\":\"text\",\"label\":\"Details\",\"format\":\"string\"}]}"

static void write_number(struct firefox *f, uint32_t number)
{
	fprintf(f->file, "%" PRIu32, number);
}

static void write_ms(struct firefox *f, int64_t ns)
{
	fprintf(f->file, "%.6f", (double)(ns - firefox_profile(f)->start_ns) / 1e6);
}

enum mark_column {
	MARK_DATA,
	MARK_NAME,
	MARK_START,
	MARK_END,
	MARK_PHASE,
	MARK_CATEGORY,
	MARK_COLUMNS
};

static const char *const mark_columns[MARK_COLUMNS] = { "data",    "name",  "startTime",
							"endTime", "phase", "category" };

static void write_mark_cell(struct firefox *f, const struct timed_mark *mark,
			    enum mark_column column)
{
	switch (column) {
	case MARK_DATA:
		fprintf(f->file, "{\"type\":\"%s\",\"text\":", timed_mark_names[mark->kind]);
		json_string(f->file, intern_text(&firefox_profile(f)->names, mark->text));
		if (mark->stack && f->leaves && f->leaves[mark->stack])
			fprintf(f->file, ",\"cause\":{\"stack\":%" PRIu32 "}",
				f->leaves[mark->stack] - 1);
		fputc('}', f->file);
		break;
	case MARK_NAME:
		write_number(f, f->string_count + mark->kind);
		break;
	case MARK_START:
		write_ms(f, mark->time_ns);
		break;
	case MARK_END:
		if (mark->duration_ns > 0)
			write_ms(f, mark->time_ns + mark->duration_ns);
		else
			fputs("null", f->file);
		break;
	case MARK_PHASE: /* an instant, or an interval */
		write_number(f, mark->duration_ns > 0);
		break;
	default:
		write_number(f, CATEGORY_OTHER);
	}
}

/* Write COLUMN of the marks of THREAD; *COUNT of them were written before. */
static void write_thread_marks(struct firefox *f, uint32_t thread, enum mark_column column,
			       uint64_t *count)
{
	uint32_t length;
	const uint32_t *list = timed_store_marks(f->store, thread, &length);

	for (uint32_t i = 0; i < length; i++) {
		if ((*count)++)
			fputc(',', f->file);
		write_mark_cell(f, &f->store->marks[list[i]], column);
	}
}

/* The first group of a thread has its marks; the first group of all has those of no thread. */
static void write_marks(struct firefox *f, uint32_t group)
{
	const struct timed_group *groups = f->store->groups;
	uint32_t thread = groups[group].thread;
	uint64_t count = 0;

	fputs("\"markers\":{", f->file);
	for (int column = 0; column < MARK_COLUMNS; column++) {
		fprintf(f->file, "\"%s\":[", mark_columns[column]);
		count = 0;
		if (!group)
			write_thread_marks(f, 0, (enum mark_column)column, &count);
		if (thread && (!group || groups[group - 1].thread != thread))
			write_thread_marks(f, thread, (enum mark_column)column, &count);
		fputs("],", f->file);
	}
	fprintf(f->file, "\"length\":%" PRIu64 "}", count);
}

enum sample_column { SAMPLE_STACK, SAMPLE_TIME, SAMPLE_WEIGHT, SAMPLE_CPU, SAMPLE_COLUMNS };

static void write_sample_cell(struct firefox *f, const struct timed_sample *s,
			      enum sample_column column)
{
	switch (column) {
	case SAMPLE_STACK:
		if (s->stack && f->leaves && f->leaves[s->stack])
			write_number(f, f->leaves[s->stack] - 1);
		else
			fputs("null", f->file);
		break;
	case SAMPLE_TIME:
		write_ms(f, s->time_ns);
		break;
	case SAMPLE_WEIGHT:
		json_number(f->file,
			    metric_is_memory((enum metric)s->metric) ? s->total : s->count);
		break;
	default:
		json_number(f->file, s->is_sleeping ? 0 : (double)s->duration_ns);
	}
}

static void write_samples(struct firefox *f, const struct timed_group *group)
{
	static const char *const names[SAMPLE_COLUMNS] = { "stack", "time", "weight",
							   "threadCPUDelta" };
	bool is_memory = metric_is_memory((enum metric)group->metric);
	int columns = group->metric <= METRIC_WALL ? SAMPLE_COLUMNS : SAMPLE_CPU;

	fputs("\"samples\":{", f->file);
	for (int column = 0; column < columns; column++) {
		fprintf(f->file, "\"%s\":[", names[column]);
		for (uint64_t i = group->from; i < group->to; i++) {
			if (i > group->from)
				fputc(',', f->file);
			write_sample_cell(f, &f->store->samples[i], (enum sample_column)column);
		}
		fputs("],", f->file);
	}
	fprintf(f->file, "\"weightType\":\"%s\",\"length\":%" PRIu64 "},\n",
		is_memory ? "bytes" : "samples", group->to - group->from);
}

static void write_thread(struct firefox *f, uint32_t number)
{
	const struct timed_group *group = &f->store->groups[number];
	const struct thread_key *key = intern_key(&firefox_profile(f)->threads, group->thread);
	char name[EXPORT_NAME_MAX], process[128];
	uint32_t pid;

	export_group_name(f->store, group, name);
	timed_store_process(f->store, group->thread, process, sizeof(process));
	pid = export_pid(process);
	fprintf(f->file,
		"%s{\"processType\":\"default\",\"processStartupTime\":0,"
		"\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
		"\"pausedRanges\":[],\"showMarkersInTimeline\":true,\"isMainThread\":%s,"
		"\"pid\":\"%" PRIu32 "\",\"tid\":\"%" PRIu32 "%s%s\",\"processName\":",
		number ? ",\n" : "", key->tid && key->tid == pid ? "true" : "false", pid, key->tid,
		f->store->has_metrics ? " " : "",
		f->store->has_metrics ? metric_texts[group->metric].name : "");
	json_string(f->file, process);
	fputs(",\"name\":", f->file);
	json_string(f->file, name);
	fputs(",\n", f->file);
	write_samples(f, group);
	write_marks(f, number);
	fputc('}', f->file);
}

static void write_meta(struct firefox *f, const char *title)
{
	const struct profile *p = firefox_profile(f);
	int64_t period = p->periods[METRIC_CPU] ? p->periods[METRIC_CPU] : p->periods[METRIC_WALL];

	fprintf(f->file,
		"{\"meta\":{\"interval\":%.6f,\"startTime\":%.6f,\"processType\":0,"
		"\"product\":",
		period ? (double)period / 1e6 : 1.0, (double)p->start_ns / 1e6);
	json_string(f->file, title);
	fprintf(f->file,
		",\"importedFrom\":\"asprof-agent " ASPROF_AGENT_VERSION "\",\"stackwalk\":1,"
		"\"version\":%d,\"preprocessedProfileVersion\":%d,\"symbolicated\":true,"
		"\"symbolicationNotSupported\":true,\"usesOnlyOneStackType\":true,"
		"\"sourceCodeIsNotOnSearchfox\":true,\"keepProfileThreadOrder\":true,"
		"\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
		"\"categories\":[" CATEGORIES "],\"markerSchema\":[",
		GECKO_VERSION, PROCESSED_VERSION);
	for (int kind = 0; kind < TIMED_MARKS; kind++)
		fprintf(f->file, "%s{\"name\":\"%s\"," SCHEMA_FIELDS, kind ? "," : "",
			timed_mark_names[kind]);
	fputs("]},\n\"libs\":[],\"pages\":[],\n", f->file);
}

int firefox_write(FILE *file, const struct timed_store *store, const char *title)
{
	struct firefox f = { .file = file, .store = store };

	write_meta(&f, title);
	firefox_write_shared(&f);
	fputs("\"threads\":[", file);
	for (uint32_t i = 0; i < store->group_count; i++)
		write_thread(&f, i);
	fputs("]}\n", file);
	firefox_free_tables(&f);
	return f.out_of_memory ? -ENOMEM : 0;
}
