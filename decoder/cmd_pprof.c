/* pprof: gzipped profile.proto, for `go tool pprof` and all that reads it. */
#include "decoder/args.h"
#include "decoder/gzip.h"
#include "decoder/libraries.h"
#include "decoder/output.h"
#include "decoder/profile.h"
#include "decoder/proto.h"
#include "decoder/say.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct command_option pprof_options[] = {
	{ "-o", "OUT", "the file to write, instead of standard output", ARG_STRING,
	  offsetof(struct args, output) },
	{ 0 },
};

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};

/* The columns: for each metric there is, by count, by total, or both. Those of Java's objects give
 * way to the native ones where a recording has both. */
static const struct column {
	enum metric metric;
	bool total;
	const char *type, *other_type;
} all_columns[] = {
	{ METRIC_CPU, false, "cpu", NULL },
	{ METRIC_WALL, false, "wall", NULL },
	{ METRIC_MALLOC, false, "alloc_objects", NULL },
	{ METRIC_MALLOC, true, "alloc_space", NULL },
	{ METRIC_OBJECT, false, "alloc_objects", "java_alloc_objects" },
	{ METRIC_OBJECT, true, "alloc_space", "java_alloc_space" },
	{ METRIC_LIVE, false, "inuse_objects", NULL },
	{ METRIC_LIVE, true, "inuse_space", NULL },
	{ METRIC_LIVE_OBJECT, false, "inuse_objects", "java_inuse_objects" },
	{ METRIC_LIVE_OBJECT, true, "inuse_space", "java_inuse_space" },
	{ METRIC_LOCK, false, "contentions", NULL },
	{ METRIC_LOCK, true, "delay", NULL },
};

#define COLUMNS (sizeof(all_columns) / sizeof(all_columns[0]))

/* These are interned by their bytes; all are in the profile's names, 0: none. */
struct pprof_function {
	uint32_t name, module, file;
};

struct pprof_mapping {
	uint32_t module, build_id;
};

struct writer {
	struct profile *profile;
	const struct args *args;
	struct gzip *gzip;
	struct libraries libraries;
	struct intern strings;   /* number - 1 is the index; the first is "" */
	struct intern functions; /* struct pprof_function */
	struct intern mappings;  /* struct pprof_mapping */
	struct intern locations; /* the innermost frame of each */
	struct column columns[COLUMNS];
	size_t column_count;
	struct buf message, inner, values;
	int err;
};

static int64_t string_index(struct writer *w, const char *text)
{
	uint32_t id = intern_string(&w->strings, text);

	if (!id)
		w->err = -ENOMEM;
	return (int64_t)id - 1;
}

static void note(struct writer *w, int err)
{
	if (err && !w->err)
		w->err = err;
}

/* Write w->message as FIELD of the profile. */
static void flush(struct writer *w, unsigned field)
{
	struct buf out = BUF_INIT(SIZE_MAX / 2);

	note(w, proto_message(&out, field, &w->message));
	note(w, gzip_write(w->gzip, out.data, out.length));
	buf_free(&out);
	buf_reset(&w->message);
}

static void write_number(struct writer *w, unsigned field, int64_t number)
{
	buf_reset(&w->inner);
	note(w, proto_int(&w->inner, field, number));
	note(w, gzip_write(w->gzip, w->inner.data, w->inner.length));
}

static const char *unit_of(const struct writer *w, const struct column *column)
{
	(void)w;
	return column->total ? metric_texts[column->metric].total_unit : "count";
}

static void choose_columns(struct writer *w)
{
	uint32_t there = 0;

	for (uint32_t i = 0; i < w->profile->count; i++)
		there |= 1u << w->profile->samples[i].metric;
	for (size_t i = 0; i < COLUMNS; i++) {
		struct column column = all_columns[i];

		if (!(there & 1u << column.metric))
			continue;
		if (column.other_type && (there & (1u << METRIC_MALLOC | 1u << METRIC_LIVE)))
			column.type = column.other_type;
		/* Time, where it is asked for and known. */
		if (w->args->total && column.metric <= METRIC_WALL)
			column.total = true;
		w->columns[w->column_count++] = column;
	}
}

static void write_types(struct writer *w)
{
	for (size_t i = 0; i < w->column_count; i++) {
		note(w, proto_int(&w->message, 1, string_index(w, w->columns[i].type)));
		note(w, proto_int(&w->message, 2, string_index(w, unit_of(w, &w->columns[i]))));
		flush(w, PROFILE_SAMPLE_TYPE);
	}
}

static uint32_t mapping_of(struct writer *w, const struct frame *frame)
{
	struct pprof_mapping mapping = { frame->module, frame->build_id };

	return frame->module ? intern(&w->mappings, &mapping, sizeof(mapping)) : 0;
}

static uint32_t function_of(struct writer *w, const struct frame *frame)
{
	struct pprof_function function = { frame->name, frame->module, frame->file };

	return intern(&w->functions, &function, sizeof(function));
}

static void add_label(struct writer *w, const char *key, const char *value)
{
	struct buf label = BUF_INIT(64);

	note(w, proto_int(&label, 1, string_index(w, key)));
	note(w, proto_int(&label, 2, string_index(w, value)));
	note(w, proto_message(&w->message, 3, &label));
	buf_free(&label);
}

static void add_labels(struct writer *w, const struct sample *s)
{
	const struct thread_key *key = intern_key(&w->profile->threads, s->thread);
	char name[256], *lines, *line, *rest, *equals;

	if (s->thread) {
		profile_thread_name(w->profile, s->thread, name, sizeof(name));
		add_label(w, "thread", name);
	}
	lines = strdup(intern_text(&w->profile->names, key->labels));
	for (line = lines ? strtok_r(lines, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		equals = strchr(line, '=');
		if (!equals)
			continue;
		*equals = '\0';
		add_label(w, line, equals + 1);
	}
	free(lines);
}

static void add_location(struct writer *w, uint32_t frame)
{
	mapping_of(w, profile_frame(w->profile, frame));
	note(w, proto_varint(&w->inner, intern(&w->locations, &frame, sizeof(frame))));
}

static void write_sample(struct writer *w, const struct sample *s)
{
	const uint32_t *frames = intern_key(&w->profile->stacks, s->stack);
	uint32_t depth = intern_length(&w->profile->stacks, s->stack) / sizeof(*frames);
	static const uint32_t no_frame;

	buf_reset(&w->inner);
	if (!depth)
		add_location(w, no_frame);
	/* Those that a frame is inlined into belong to its location. */
	for (uint32_t i = 0; i < depth; i++)
		if (!i || profile_frame(w->profile, frames[i - 1])->caller != frames[i])
			add_location(w, frames[i]);
	note(w, proto_message(&w->message, 1, &w->inner));
	buf_reset(&w->values);
	for (size_t i = 0; i < w->column_count; i++) {
		double value = w->columns[i].total ? s->total : s->count;
		bool mine = w->columns[i].metric == (enum metric)s->metric;

		note(w, proto_varint(&w->values, mine ? (uint64_t)(int64_t)(value + 0.5) : 0));
	}
	note(w, proto_message(&w->message, 2, &w->values));
	add_labels(w, s);
	flush(w, PROFILE_SAMPLE);
}

/* The first mapping is the program, to readers: those that are no shared objects come first. */
static void number_programs(struct writer *w)
{
	for (uint32_t id = 1; id <= w->profile->frames.count; id++) {
		const struct frame *frame = profile_frame(w->profile, id);
		const char *module = intern_text(&w->profile->names, frame->module);

		if (frame->module && frame->type == FRAME_NATIVE && !strstr(module, ".so") &&
		    *module != '[')
			mapping_of(w, frame);
	}
}

/* What readers need not look for any more, by mapping. */
enum { HAS_FILES = 1, HAS_LINES = 2, HAS_INLINED = 4 };

static uint8_t *mapping_facts(struct writer *w)
{
	uint8_t *facts = calloc((size_t)w->mappings.count + 1, 1);

	for (uint32_t id = 1; facts && id <= w->locations.count; id++) {
		const uint32_t *frame_id = intern_key(&w->locations, id);
		const struct frame *frame = profile_frame(w->profile, *frame_id);
		uint8_t *fact = &facts[mapping_of(w, frame)];

		*fact |= frame->file ? HAS_FILES : 0;
		*fact |= frame->line ? HAS_LINES : 0;
		*fact |= frame->caller ? HAS_INLINED : 0;
	}
	if (!facts)
		w->err = -ENOMEM;
	return facts;
}

static const struct library *library_of(const struct writer *w, const struct pprof_mapping *mapping)
{
	return libraries_find(&w->libraries, intern_text(&w->profile->names, mapping->module),
			      intern_text(&w->profile->names, mapping->build_id));
}

static void write_mapping(struct writer *w, uint32_t id, uint8_t facts)
{
	const struct pprof_mapping *mapping = intern_key(&w->mappings, id);
	const struct library *library = library_of(w, mapping);
	const char *name = intern_text(&w->profile->names, mapping->module), *build_id = "";

	note(w, proto_int(&w->message, 1, id));
	if (library) {
		name = intern_text(&w->libraries.names, library->path);
		build_id = intern_text(&w->libraries.names, library->build_id);
		note(w, proto_int(&w->message, 2, (int64_t)library->base));
		note(w, proto_int(&w->message, 3, (int64_t)library->top));
		note(w, proto_int(&w->message, 4, (int64_t)library->file_offset));
	}
	note(w, proto_int(&w->message, 5, string_index(w, name)));
	note(w, proto_int(&w->message, 6, string_index(w, build_id)));
	note(w, proto_int(&w->message, 7, 1)); /* has functions: no symbols to look for */
	note(w, proto_int(&w->message, 8, !!(facts & HAS_FILES)));
	note(w, proto_int(&w->message, 9, !!(facts & HAS_LINES)));
	note(w, proto_int(&w->message, 10, !!(facts & HAS_INLINED)));
	flush(w, PROFILE_MAPPING);
}

static void write_mappings(struct writer *w)
{
	uint8_t *facts = mapping_facts(w);

	for (uint32_t id = 1; facts && id <= w->mappings.count; id++)
		write_mapping(w, id, facts[id]);
	free(facts);
}

/* Where FRAME's code was in memory. */
static uint64_t runtime_address(struct writer *w, const struct frame *frame)
{
	struct pprof_mapping mapping = { frame->module, frame->build_id };
	const struct library *library = frame->address ? library_of(w, &mapping) : NULL;

	return library ? library->base + (frame->address - library->link_address) : 0;
}

/* The frame of that number and those that it is inlined into, innermost first. */
static void write_location(struct writer *w, uint32_t id, uint32_t frame_id)
{
	const struct frame *frame = profile_frame(w->profile, frame_id);

	note(w, proto_int(&w->message, 1, id));
	note(w, proto_int(&w->message, 2, mapping_of(w, frame)));
	note(w, proto_int(&w->message, 3, (int64_t)runtime_address(w, frame)));
	for (;; frame = profile_frame(w->profile, frame->caller)) {
		buf_reset(&w->inner);
		note(w, proto_int(&w->inner, 1, function_of(w, frame)));
		note(w, proto_int(&w->inner, 2, frame->line));
		note(w, proto_message(&w->message, 4, &w->inner));
		if (!frame->caller)
			break;
	}
	flush(w, PROFILE_LOCATION);
}

static void write_function(struct writer *w, uint32_t id)
{
	const struct pprof_function *function = intern_key(&w->functions, id);
	const struct intern *names = &w->profile->names;
	const char *name = function->name ? intern_text(names, function->name) : "[no stack]";

	note(w, proto_int(&w->message, 1, id));
	note(w, proto_int(&w->message, 2, string_index(w, name)));
	note(w, proto_int(&w->message, 3, string_index(w, name)));
	note(w, proto_int(&w->message, 4,
			  string_index(w, intern_text(names, function->file ? function->file
									    : function->module))));
	flush(w, PROFILE_FUNCTION);
}

static void write_locations(struct writer *w)
{
	for (uint32_t id = 1; id <= w->locations.count; id++) {
		const uint32_t *frame = intern_key(&w->locations, id);

		write_location(w, id, *frame);
	}
	for (uint32_t id = 1; id <= w->functions.count; id++)
		write_function(w, id);
}

/* What `go tool pprof` opens with: time where there is any, else bytes. */
static int64_t default_type(struct writer *w)
{
	size_t chosen = 0;

	while (chosen + 1 < w->column_count && w->columns[0].metric > METRIC_WALL &&
	       !w->columns[chosen].total)
		chosen++;
	return w->column_count ? string_index(w, w->columns[chosen].type) : 0;
}

static void write_all(struct writer *w)
{
	const struct profile *p = w->profile;
	int64_t comment, type;

	string_index(w, "");
	choose_columns(w);
	write_types(w);
	number_programs(w);
	for (uint32_t i = 0; i < p->count && !w->err; i++)
		write_sample(w, &p->samples[i]);
	write_mappings(w);
	write_locations(w);
	comment = string_index(w, "asprof-agent " ASPROF_AGENT_VERSION);
	type = default_type(w);
	for (uint32_t id = 1; id <= w->strings.count && !w->err; id++) {
		note(w, buf_append_string(&w->message, intern_text(&w->strings, id)));
		flush(w, PROFILE_STRING);
	}
	write_number(w, PROFILE_TIME_NS, p->start_ns);
	write_number(w, PROFILE_DURATION_NS, p->end_ns - p->start_ns);
	write_number(w, PROFILE_COMMENT, comment);
	write_number(w, PROFILE_DEFAULT_TYPE, type);
}

static int print_pprof(const struct args *args, struct profile *profile)
{
	struct writer w = { .profile = profile,
			    .args = args,
			    .message = BUF_INIT(64u << 20),
			    .inner = BUF_INIT(64u << 20),
			    .values = BUF_INIT(65536) };
	struct output output;
	int err = output_open(&output, args->output);

	if (err)
		return COMMAND_FAILED;
	libraries_read(&w.libraries, args);
	err = gzip_open(&w.gzip, output.file);
	if (!err) {
		write_all(&w);
		err = gzip_close(w.gzip);
		err = err ? err : w.err;
	}
	if (err)
		say("%s: %s", args->output ? args->output : "standard output", strerror(-err));
	if (output_close(&output))
		err = -EIO;
	intern_free(&w.strings);
	intern_free(&w.functions);
	intern_free(&w.mappings);
	intern_free(&w.locations);
	libraries_free(&w.libraries);
	buf_free(&w.message);
	buf_free(&w.inner);
	buf_free(&w.values);
	return err ? COMMAND_FAILED : COMMAND_OK;
}

int cmd_pprof(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct profile profile = PROFILE_INIT;
	uint32_t metrics;
	int status;

	args.tail = 0;
	args.places = true;
	status = args_parse(&args, argc, argv, pprof_options, args_filters);
	if (status == COMMAND_OK) {
		metrics = metric_mask(args.metric);
		if (args.metric == METRIC_ANY)
			metrics |= 1u << METRIC_LIVE;
		status = profile_read(&profile, &args, args.files, args.file_count, metrics);
		if (profile.start_ns <= profile.end_ns && print_pprof(&args, &profile))
			status = COMMAND_FAILED;
	}
	profile_free(&profile);
	args_free(&args);
	return status;
}
