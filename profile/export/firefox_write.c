/* Writer of Firefox Profiler's processed profile: src/types/profile.ts of
 * https://github.com/firefox-devtools/profiler. That reader converts older versions. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/aggregate/frame_category.h"
#include "profile/basics/text.h"
#include "profile/export/export.h"

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

struct node_key {
	uint32_t prefix, frame; /* prefix: ID in nodes; 0: a root */
};

struct function_key {
	uint32_t name, module, file, is_script;
};

struct firefox {
	FILE *file;
	const struct timed_store *store;
	struct intern functions; /* struct function_key */
	struct intern modules;   /* IDs in the profile's names */
	struct intern sources;   /* IDs in the profile's names */
	struct intern nodes;     /* struct node_key */
	uint32_t *leaves;        /* ID in nodes by stack; 0: no stack */
	uint32_t string_count;   /* of the profile's names */
	bool out_of_memory;
};

static const struct profile *firefox_profile(const struct firefox *f)
{
	return &f->store->profile;
}

/* Write a column: ITEM(f, id) for each ID from 1 to COUNT. */
static void write_column(struct firefox *f, const char *name, uint32_t count,
			 void (*item)(struct firefox *f, uint32_t id))
{
	fprintf(f->file, "\"%s\":[", name);
	for (uint32_t id = 1; id <= count; id++) {
		if (id > 1)
			fputc(',', f->file);
		item(f, id);
	}
	fputs("],", f->file);
}

static void item_null(struct firefox *f, uint32_t id)
{
	(void)id;
	fputs("null", f->file);
}

static void item_zero(struct firefox *f, uint32_t id)
{
	(void)id;
	fputc('0', f->file);
}

static void item_none(struct firefox *f, uint32_t id)
{
	(void)id;
	fputs("-1", f->file);
}

static void item_false(struct firefox *f, uint32_t id)
{
	(void)id;
	fputs("false", f->file);
}

static void write_number(struct firefox *f, uint32_t number)
{
	fprintf(f->file, "%" PRIu32, number);
}

static uint32_t intern_number(struct firefox *f, struct intern *table, uint32_t number)
{
	uint32_t id = number ? intern(table, &number, sizeof(number)) : 0;

	f->out_of_memory |= number && !id;
	return id;
}

static uint32_t frame_function(struct firefox *f, uint32_t id)
{
	const struct frame *frame = profile_frame(firefox_profile(f), id);
	struct function_key key = { .name = frame->name,
				    .module = frame->module,
				    .file = frame->file,
				    .is_script =
					    jfr_frame_is_script((enum jfr_frame_type)frame->type) };
	uint32_t function = intern(&f->functions, &key, sizeof(key));

	f->out_of_memory |= !function;
	if (key.is_script)
		intern_number(f, &f->sources, key.file ? key.file : key.module);
	else
		intern_number(f, &f->modules, key.module);
	return function;
}

static const struct function_key *function_of(const struct firefox *f, uint32_t id)
{
	return intern_key(&f->functions, id);
}

static void item_frame_category(struct firefox *f, uint32_t id)
{
	write_number(f, profile_frame(firefox_profile(f), id)->category);
}

static void item_frame_function(struct firefox *f, uint32_t id)
{
	write_number(f, frame_function(f, id) - 1);
}

static void item_frame_line(struct firefox *f, uint32_t id)
{
	uint32_t line = profile_frame(firefox_profile(f), id)->line;

	if (line)
		write_number(f, line);
	else
		fputs("null", f->file);
}

static void write_frames(struct firefox *f)
{
	uint32_t count = firefox_profile(f)->frames.count;

	fputs("\"frameTable\":{", f->file);
	write_column(f, "address", count, item_none);
	write_column(f, "lib", count, item_none);
	write_column(f, "inlineDepth", count, item_zero);
	write_column(f, "category", count, item_frame_category);
	write_column(f, "subcategory", count, item_zero);
	write_column(f, "func", count, item_frame_function);
	write_column(f, "nativeSymbol", count, item_null);
	write_column(f, "innerWindowID", count, item_null);
	write_column(f, "line", count, item_frame_line);
	write_column(f, "column", count, item_null);
	write_column(f, "originalLocation", count, item_null);
	fprintf(f->file, "\"length\":%" PRIu32 "},\n", count);
}

static void item_function_name(struct firefox *f, uint32_t id)
{
	write_number(f, function_of(f, id)->name);
}

static void item_function_resource(struct firefox *f, uint32_t id)
{
	const struct function_key *key = function_of(f, id);

	if (key->is_script || !key->module)
		fputs("-1", f->file);
	else
		write_number(f, intern_number(f, &f->modules, key->module) - 1);
}

static void item_function_source(struct firefox *f, uint32_t id)
{
	const struct function_key *key = function_of(f, id);
	uint32_t source = key->file ? key->file : key->module;

	if (!key->is_script || !source)
		fputs("null", f->file);
	else
		write_number(f, intern_number(f, &f->sources, source) - 1);
}

static void write_functions(struct firefox *f)
{
	uint32_t count = f->functions.count;

	fputs("\"funcTable\":{", f->file);
	write_column(f, "name", count, item_function_name);
	write_column(f, "isJS", count, item_false);
	write_column(f, "relevantForJS", count, item_false);
	write_column(f, "resource", count, item_function_resource);
	write_column(f, "source", count, item_function_source);
	write_column(f, "lineNumber", count, item_null);
	write_column(f, "columnNumber", count, item_null);
	write_column(f, "originalLocation", count, item_null);
	fprintf(f->file, "\"length\":%" PRIu32 "},\n", count);
}

static void item_module_name(struct firefox *f, uint32_t id)
{
	write_number(f, *(const uint32_t *)intern_key(&f->modules, id));
}

static void item_source_name(struct firefox *f, uint32_t id)
{
	write_number(f, *(const uint32_t *)intern_key(&f->sources, id));
}

static void item_one(struct firefox *f, uint32_t id)
{
	(void)id;
	fputc('1', f->file);
}

static void write_places(struct firefox *f)
{
	fputs("\"resourceTable\":{", f->file);
	write_column(f, "name", f->modules.count, item_module_name);
	write_column(f, "host", f->modules.count, item_null);
	write_column(f, "type", f->modules.count, item_one);
	fprintf(f->file, "\"length\":%" PRIu32 "},\n\"sources\":{", f->modules.count);
	write_column(f, "id", f->sources.count, item_null);
	write_column(f, "filename", f->sources.count, item_source_name);
	write_column(f, "startLine", f->sources.count, item_one);
	write_column(f, "startColumn", f->sources.count, item_one);
	write_column(f, "sourceMapURL", f->sources.count, item_null);
	write_column(f, "content", f->sources.count, item_null);
	fprintf(f->file,
		"\"length\":%" PRIu32 "},\n"
		"\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
		"\"functionSize\":[],\"length\":0},\n"
		"\"sourceLocationTable\":{\"source\":[],\"line\":[],\"column\":[],\"length\":0},\n",
		f->sources.count);
}

/* Add all stacks to the tree of nodes, outermost frames first. */
static void make_nodes(struct firefox *f)
{
	const struct intern *stacks = &firefox_profile(f)->stacks;

	f->leaves = calloc((size_t)stacks->count + 1, sizeof(*f->leaves));
	f->out_of_memory |= !f->leaves;
	for (uint32_t id = 1; id <= stacks->count && f->leaves; id++) {
		struct node_key key = { 0 };
		uint32_t depth;
		const uint32_t *frames = export_stack(f->store, id, &depth);

		for (uint32_t i = depth; i && !f->out_of_memory; i--) {
			key.frame = frames[i - 1];
			key.prefix = intern(&f->nodes, &key, sizeof(key));
			f->out_of_memory |= !key.prefix;
		}
		f->leaves[id] = key.prefix;
	}
}

static const struct node_key *node_of(const struct firefox *f, uint32_t id)
{
	return intern_key(&f->nodes, id);
}

static void item_node_frame(struct firefox *f, uint32_t id)
{
	write_number(f, node_of(f, id)->frame - 1);
}

static void item_node_prefix(struct firefox *f, uint32_t id)
{
	uint32_t prefix = node_of(f, id)->prefix;

	write_number(f, prefix ? id - prefix : 0);
}

static void write_shared(struct firefox *f)
{
	const struct intern *names = &firefox_profile(f)->names;

	make_nodes(f);
	fputs("\"shared\":{\"stackTable\":{", f->file);
	write_column(f, "frame", f->nodes.count, item_node_frame);
	write_column(f, "prefixOffset", f->nodes.count, item_node_prefix);
	fprintf(f->file, "\"length\":%" PRIu32 "},\n", f->nodes.count);
	write_frames(f);
	write_functions(f);
	write_places(f);
	/* Strings are numbered as the profile's names; 0 is "". Marks follow. */
	fputs("\"stringArray\":[\"\"", f->file);
	f->string_count = names->count + 1;
	for (uint32_t id = 1; id <= names->count; id++) {
		fputc(',', f->file);
		json_string(f->file, intern_text(names, id));
	}
	for (int kind = 0; kind < TIMED_MARKS; kind++)
		fprintf(f->file, ",\"%s\"", timed_mark_names[kind]);
	fputs("]},\n", f->file);
}

static void write_ms(struct firefox *f, int64_t ns)
{
	fprintf(f->file, "%.6f", (double)(ns - firefox_profile(f)->start_ns) / 1e6);
}

/* Whether the first group of the mark's thread, or of all, is GROUP. */
static bool mark_is_in(const struct firefox *f, const struct timed_mark *mark, uint32_t group)
{
	const struct timed_group *groups = f->store->groups;

	if (!mark->thread)
		return group == 0;
	return groups[group].thread == mark->thread &&
	       (!group || groups[group - 1].thread != mark->thread);
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

static void write_marks(struct firefox *f, uint32_t group)
{
	uint64_t count = 0;

	fputs("\"markers\":{", f->file);
	for (int column = 0; column < MARK_COLUMNS; column++) {
		fprintf(f->file, "\"%s\":[", mark_columns[column]);
		count = 0;
		for (size_t i = 0; i < f->store->mark_count; i++) {
			if (!mark_is_in(f, &f->store->marks[i], group))
				continue;
			if (count++)
				fputc(',', f->file);
			write_mark_cell(f, &f->store->marks[i], (enum mark_column)column);
		}
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
		export_has_metrics(f->store) ? " " : "",
		export_has_metrics(f->store) ? metric_texts[group->metric].name : "");
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
	write_shared(&f);
	fputs("\"threads\":[", file);
	for (uint32_t i = 0; i < store->group_count; i++)
		write_thread(&f, i);
	fputs("]}\n", file);
	intern_free(&f.functions);
	intern_free(&f.modules);
	intern_free(&f.sources);
	intern_free(&f.nodes);
	free(f.leaves);
	return f.out_of_memory ? -ENOMEM : 0;
}
