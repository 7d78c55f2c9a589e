/* Command line of the commands that read recordings. */
#include "decoder/commands/args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/input/source_open.h"
#include "decoder/output/message.h"
#include "decoder/symbolize/crash_guard.h"
#include "decoder/symbolize/symbolizer.h"

#define AT(field) offsetof(struct args, field)

#define DEFAULT_LENGTH_NS 1000000000

const struct command_option args_total[] = {
	{ "--total", NULL, "weigh by time or bytes, not by samples", ARG_FLAG, AT(total) },
	{ 0 },
};

const struct command_option args_metrics[] = {
	{ "--cpu", NULL, "CPU time (the default where it was sampled)", ARG_METRIC, METRIC_CPU },
	{ "--wall", NULL, "wall-clock time, whether threads ran or waited", ARG_METRIC,
	  METRIC_WALL },
	{ "--alloc", NULL, "native allocations; Java's if there are none", ARG_METRIC,
	  METRIC_MALLOC },
	{ "--nativemem", NULL, "the same as --alloc", ARG_METRIC, METRIC_MALLOC },
	{ "--objects", NULL, "allocations of Java objects", ARG_METRIC, METRIC_OBJECT },
	{ "--live-objects", NULL, "Java objects that survived", ARG_METRIC, METRIC_LIVE_OBJECT },
	{ "--lock", NULL, "waits for contended locks", ARG_METRIC, METRIC_LOCK },
	{ "--raw", NULL, "count a memory sample as one, not by its weight", ARG_NO_FLAG,
	  AT(query.weighted) },
	{ 0 },
};

const struct command_option args_live[] = {
	{ "--live", NULL, "native allocations that were not freed", ARG_METRIC, METRIC_LIVE },
	{ "--leak", NULL, "like --live, without recent ones (see --tail)", ARG_METRIC,
	  METRICS + METRIC_LIVE },
	{ "--retained", NULL, "with --live: count as leaks does, not by events", ARG_FLAG,
	  AT(query.retained) },
	{ "--tail", "SHARE", "last part of the time, which --leak omits (10%)", ARG_RATIO,
	  AT(query.tail) },
	{ 0 },
};

const struct command_option args_base[] = {
	{ "--base", "FILE...", "compare with these: what grew, what shrank", ARG_FILES, 0 },
	{ "--base-from", "TIME", "start of the base (a time of FILE without --base)", ARG_TIME,
	  AT(base_from) },
	{ "--base-to", "TIME", "end of the base", ARG_TIME, AT(base_to) },
	{ 0 },
};

#define THREAD_ROW                                                                        \
	{                                                                                 \
		"--thread", "REGEX", "only threads whose name or tid matches", ARG_REGEX, \
			AT(query.thread)                                                  \
	}

const struct command_option args_thread[] = { THREAD_ROW, { 0 } };

const struct command_option args_filters[] = {
	THREAD_ROW,
	{ "--include", "REGEX", "only stacks with a frame that matches", ARG_REGEX,
	  AT(query.include) },
	{ "--exclude", "REGEX", "only stacks without a frame that matches", ARG_REGEX,
	  AT(query.exclude) },
	{ 0 },
};

const struct command_option args_waits[] = {
	{ "--state", "running|runnable|waiting", "only threads in that state", ARG_STATES,
	  AT(query.states) },
	{ "--cause", "CAUSE", "only waits for lock, file, ...; several: lock,gil", ARG_CAUSES,
	  AT(query.causes) },
	{ 0 },
};

const struct command_option args_period[] = {
	{ "--from", "TIME", "02:10:00 (UTC), 30s (from the start), -30s (the end)", ARG_TIME,
	  AT(query.from) },
	{ "--to", "TIME", "end, in the same forms", ARG_TIME, AT(query.to) },
	{ "--at", "TIME", "start of a period as long as --for", ARG_TIME, AT(at) },
	{ "--for", "TIME", "length of that period (1s)", ARG_DURATION, AT(for_ns) },
	{ 0 },
};

const struct command_option args_sources[] = {
	{ "--process", "REGEX", "only recordings of a process NAME_PID that matches", ARG_REGEX,
	  AT(selection.process) },
	{ "--host", "REGEX", "only recordings of a host whose name matches", ARG_REGEX,
	  AT(selection.host) },
	{ "--tag", "REGEX", "only recordings with a tag KEY=VALUE that matches", ARG_REGEX,
	  AT(selection.tag) },
	{ "--label", "KEY=VALUE", "only with that label: a tag, host, executable", ARG_LABEL, 0 },
	{ "--group", "REGEX", "only uploads of a group that matches", ARG_REGEX,
	  AT(selection.uploads.group) },
	{ "--machine", "REGEX", "only uploads of an instance or task whose id matches", ARG_REGEX,
	  AT(selection.uploads.machine) },
	{ 0 },
};

const struct command_option args_trace[] = {
	{ "--trace", "ID", "only samples of that OpenTelemetry trace", ARG_TRACE, 0 },
	{ 0 },
};

const struct command_option args_bucket[] = {
	{ "--endpoint", "URL", "the store for s3:// (ASPROF_AGENT_S3_ENDPOINT)", ARG_STRING,
	  AT(selection.bucket.endpoint) },
	{ "--region", "NAME", "its region (ASPROF_AGENT_S3_REGION)", ARG_STRING,
	  AT(selection.bucket.region) },
	{ "--proxy", "URL", "the proxy to the store (ASPROF_AGENT_S3_PROXY)", ARG_STRING,
	  AT(selection.bucket.proxy) },
	{ "--cache", "SIZE", "limit of the cache of fetched objects (2g; 0: off)", ARG_SIZE,
	  AT(selection.bucket.cache_bytes) },
	{ 0 },
};

#define RENAME_ROW                                                                                 \
	{                                                                                          \
		"--rename-threads", "REGEX=NAME", "rename matching threads to NAME", ARG_RENAME, 0 \
	}

const struct command_option args_renames[] = { RENAME_ROW, { 0 } };

const struct command_option args_threads[] = {
	RENAME_ROW,
	{ "--threads", NULL, "split by thread", ARG_FLAG, AT(query.threads) },
	{ 0 },
};

const struct command_option args_names[] = {
	{ "--lines", NULL, "split by source line (C and C++: with --symbols)", ARG_FLAG,
	  AT(query.lines) },
	{ "--frames", "all|script|native", "which frames (default: no internal ones)", ARG_FRAMES,
	  AT(query.frames) },
	{ "--fold", "library|interpreter|kernel|own", "omit such frames; several: library,kernel",
	  ARG_FOLD, AT(query.folded) },
	{ "--simple", NULL, "short names: no packages, no parameters", ARG_FLAG, AT(query.simple) },
	{ "--symbols", "DIR", "name functions by the debug files below DIR", ARG_SYMBOLS, 0 },
	{ "--debuginfod", NULL, "name functions by the servers in DEBUGINFOD_URLS", ARG_FLAG,
	  AT(debuginfod) },
	{ 0 },
};

#define JOBS_ROW                                                                               \
	{                                                                                      \
		"--jobs", "N", "reader threads (one per processor)", ARG_COUNT, AT(query.jobs) \
	}
#define ZIP_ROW                                                                          \
	{                                                                                \
		"--zip", NULL, "ignored: zips are recognized by content", ARG_IGNORED, 0 \
	}

const struct command_option args_reading[] = { JOBS_ROW, ZIP_ROW, { 0 } };
const struct command_option args_zip[] = { ZIP_ROW, { 0 } };

static int args_reject_value(const struct args *args, const struct command_option *row,
			     const char *value, const char *accepts)
{
	message_print("%s: %s %s: takes %s", args->command, row->name, value, accepts);
	return COMMAND_USAGE;
}

static int args_parse_regex(const struct args *args, const struct command_option *row,
			    regex_t *regex, const char *value)
{
	char problem[128];
	int err;

	if (!args_regex_is_bounded(value))
		return args_reject_value(args, row, "...", "an expression with fewer repetitions");
	err = regcomp(regex, value, REG_EXTENDED | REG_NOSUB);
	if (!err)
		return COMMAND_OK;
	regerror(err, regex, problem, sizeof(problem));
	message_print("%s: %s %s: %s", args->command, row->name, value, problem);
	return COMMAND_USAGE;
}

static int args_parse_rename(struct args *args, const struct command_option *row, char *value)
{
	char *equals = strrchr(value, '=');
	struct rename *rename = &args->query.renames[args->query.rename_count];
	int status;

	if (!equals || equals == value || args->query.rename_count == RENAMES_MAX)
		return args_reject_value(args, row, value, "REGEX=NAME, at most 16 times");
	*equals = '\0';
	status = args_parse_regex(args, row, &rename->regex, value);
	*equals = '=';
	rename->name = equals + 1;
	if (status == COMMAND_OK)
		args->query.rename_count++;
	return status;
}

static int args_parse_number(struct args *args, const struct command_option *row, const char *value,
			     void *place)
{
	char *end;
	unsigned long count;
	double ratio;

	errno = 0;
	if (row->kind == ARG_COUNT) {
		count = strtoul(value, &end, 10);
		if (*value < '0' || *value > '9' || *end || errno || count > 1000000000)
			return args_reject_value(args, row, value, "a number");
		*(unsigned *)place = (unsigned)count;
		return COMMAND_OK;
	}
	ratio = strtod(value, &end);
	if (end != value && !strcmp(end, "%")) {
		ratio /= 100;
		end++;
	}
	if (end == value || *end || !(ratio >= 0 && ratio <= 1))
		return args_reject_value(args, row, value, "a share from 0 to 1, or as 10%");
	*(double *)place = ratio;
	return COMMAND_OK;
}

static int args_parse_frames(struct args *args, const struct command_option *row, const char *value,
			     enum frames_shown *frames)
{
	static const struct {
		const char *name;
		enum frames_shown frames;
	} words[] = { { "all", SHOW_ALL }, { "script", SHOW_SCRIPT }, { "native", SHOW_NATIVE } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(value, words[i].name)) {
			*frames = words[i].frames;
			return COMMAND_OK;
		}
	return args_reject_value(args, row, value, "all, script or native");
}

static int args_parse_names(struct args *args, const struct command_option *row, const char *value,
			    uint32_t *mask)
{
	struct buf accepts = BUF_INIT(1024);
	int err = args_name_list(row->kind, value, mask);

	if (err)
		args_reject_value(args, row, value, args_name_list_text(row->kind, &accepts));
	buf_free(&accepts);
	return err ? COMMAND_USAGE : COMMAND_OK;
}

/* Accept a trace ID, or a W3C traceparent: version, trace, span and flags. */
static int args_parse_trace(struct args *args, const struct command_option *row, const char *value)
{
	size_t length = strlen(value), count = 0;
	const char *id = length == 55 && value[2] == '-' && value[35] == '-' ? value + 3 : value;

	for (; count < 32 && id[count]; count++) {
		char c = id[count];

		if (c >= 'A' && c <= 'F')
			c = (char)(c + 'a' - 'A');
		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			break;
		args->trace[count] = c;
	}
	if (count < 32 || (id == value && id[count]))
		return args_reject_value(args, row, value,
					 "32 hexadecimal digits, or a traceparent");
	args->query.trace = args->trace;
	return COMMAND_OK;
}

static int args_set_value(struct args *args, const struct command_option *row, char *value)
{
	void *place = (char *)args + row->offset;
	struct pattern *pattern = place;
	int status;

	switch ((enum arg_kind)row->kind) {
	case ARG_FLAG:
		*(bool *)place = true;
		break;
	case ARG_NO_FLAG:
		*(bool *)place = false;
		break;
	case ARG_METRIC:
		/* --leak is --live with a tail. */
		if (row->offset % METRICS == METRIC_LIVE)
			args->query.leak = row->offset != METRIC_LIVE;
		args->metric = (enum metric)(row->offset % METRICS);
		break;
	case ARG_FRAMES:
		return args_parse_frames(args, row, value, place);
	case ARG_FOLD:
	case ARG_STATES:
	case ARG_CAUSES:
		return args_parse_names(args, row, value, place);
	case ARG_STRING:
		*(const char **)place = value;
		break;
	case ARG_COUNT:
	case ARG_RATIO:
		return args_parse_number(args, row, value, place);
	case ARG_REGEX:
		if (pattern->set)
			return args_reject_value(args, row, value, "one expression only");
		status = args_parse_regex(args, row, &pattern->regex, value);
		pattern->set = status == COMMAND_OK;
		return status;
	case ARG_TIME:
		if (args_moment(value, place))
			return args_reject_value(args, row, value,
						 "02:10:00, 2026-11-21T02:10:00Z, 30s or -30s");
		break;
	case ARG_DURATION:
		if (args_duration(value, place))
			return args_reject_value(args, row, value,
						 "a duration such as 500us or 10ms");
		break;
	case ARG_LABEL:
		if (!strchr(value, '=') || *value == '=' ||
		    args->selection.label_count == LABELS_ASKED_MAX)
			return args_reject_value(args, row, value, "KEY=VALUE, at most 16 times");
		args->selection.labels[args->selection.label_count++] = value;
		break;
	case ARG_TRACE:
		return args_parse_trace(args, row, value);
	case ARG_SIZE:
		if (args_size(value, place))
			return args_reject_value(args, row, value, "a size such as 500m or 2g");
		break;
	case ARG_RENAME:
		return args_parse_rename(args, row, value);
	case ARG_FILES:
		args->base[args->base_count++] = value;
		break;
	case ARG_SYMBOLS:
		if (args->symbols_count == SYMBOLS_MAX)
			return args_reject_value(args, row, value, "a directory, at most 16 times");
		args->symbols[args->symbols_count++] = value;
		break;
	case ARG_IGNORED:
		break;
	}
	return COMMAND_OK;
}

/* Returns TABLE's row for the switch WORD, which may contain "=VALUE". */
static const struct command_option *find_switch_in_table(const struct command_option *row,
							 const char *word, char **value)
{
	size_t length = strcspn(word, "=");

	*value = NULL;
	for (; row->name; row++) {
		if (strlen(row->name) == length && !strncmp(row->name, word, length)) {
			*value = word[length] ? (char *)word + length + 1 : NULL;
			return row;
		}
		/* -n5 */
		if (row->argument && row->name[1] != '-' && !strncmp(word, row->name, 2) &&
		    word[2]) {
			*value = (char *)word + 2;
			return row;
		}
	}
	return NULL;
}

static const struct command_option *find_switch(const struct command_option *const *tables,
						const char *word, char **value)
{
	const struct command_option *row = NULL;

	for (; *tables && !row; tables++)
		row = find_switch_in_table(*tables, word, value);
	return row;
}

const struct command_option *command_find_switch(const struct command *command, const char *name)
{
	for (const struct command_option *const *table = command->options; *table; table++)
		for (const struct command_option *o = *table; o->name; o++)
			if (!strcmp(o->name, name))
				return o;
	return NULL;
}

/* Reject WORD, which may be a switch of other commands. */
static int args_reject_switch(const struct args *args, const char *word)
{
	static const struct command_option *const shared[] = {
		args_metrics, args_live,   args_total,   args_base,  args_filters,
		args_waits,   args_period, args_sources, args_trace, args_bucket,
		args_threads, args_names,  args_reading, NULL,
	};
	char *value;
	const struct command_option *row = find_switch(shared, word, &value);

	if (row)
		message_print("%s: %s does not apply here", args->command, row->name);
	else
		message_print("%s: no switch '%s'", args->command, word);
	return COMMAND_USAGE;
}

static int args_parse_switch(struct args *args, char **argv, int argc, int *at,
			     const struct command_option *const *tables)
{
	char *word = argv[*at], *value;
	const struct command_option *row = find_switch(tables, word, &value);
	int status;

	if (!row)
		return args_reject_switch(args, word);
	if (row->argument && !value && *at + 1 < argc)
		value = argv[++*at];
	if (!row->argument != !value) {
		message_print("%s: %s takes %s", args->command, row->name,
			      row->argument ? row->argument : "nothing");
		return COMMAND_USAGE;
	}
	status = args_set_value(args, row, value);
	/* After FILE, --base takes all following words: `NEW --base OLD1 OLD2`. */
	while (status == COMMAND_OK && row->kind == ARG_FILES && args->file_count &&
	       *at + 1 < argc && argv[*at + 1][0] != '-')
		args->base[args->base_count++] = argv[++*at];
	return status;
}

/* Set the selection of the base. Its patterns are those of args->selection, which frees them. */
static void args_set_base(struct args *args)
{
	args->base_selection = args->selection;
	if (!args->base_from.kind && !args->base_to.kind)
		return;
	args->base_selection.uploads.from = args->base_from;
	args->base_selection.uploads.to = args->base_to;
	if (args->base_count)
		return;
	memcpy(args->base, args->files, (size_t)args->file_count * sizeof(*args->base));
	args->base_count = args->file_count;
}

/* Set the period from --at and --for. */
static int args_set_period(struct args *args)
{
	if (args->at.kind && (args->query.from.kind || args->query.to.kind))
		message_print("%s: --at excludes --from and --to", args->command);
	else if (!args->at.kind && args->for_ns)
		message_print("%s: --for requires --at", args->command);
	else if (args->for_ns > INT64_MAX)
		message_print("%s: --for: too long", args->command);
	else {
		if (args->at.kind) {
			args->query.from = args->at;
			args->query.length_ns =
				args->for_ns ? (int64_t)args->for_ns : DEFAULT_LENGTH_NS;
		}
		return COMMAND_OK;
	}
	return COMMAND_USAGE;
}

/* --retained applies to --live only. */
static int args_set_retained(struct args *args)
{
	if (!args->query.retained)
		return COMMAND_OK;
	if (args->metric == METRIC_ANY)
		args->metric = METRIC_LIVE;
	if (args->metric == METRIC_LIVE && !args->query.leak)
		return COMMAND_OK;
	message_print("%s: --retained requires --live", args->command);
	return COMMAND_USAGE;
}

/* --state and --cause apply to wall-clock samples only, --blocked-by also to waits for locks. */
static int args_set_waits(struct args *args)
{
	if (args->blocked_by)
		args->query.waits = WAIT_PARTS_OWNER;
	if (!args->query.states && !args->query.causes && !args->blocked_by)
		return COMMAND_OK;
	if (args->metric == METRIC_ANY)
		args->metric = METRIC_WALL;
	if (args->metric == METRIC_WALL ||
	    (args->metric == METRIC_LOCK && !args->query.states && !args->query.causes))
		return COMMAND_OK;
	message_print("%s: %s requires --wall%s", args->command,
		      args->query.states   ? "--state"
		      : args->query.causes ? "--cause"
					   : "--blocked-by",
		      args->query.states || args->query.causes ? "" : " or --lock");
	return COMMAND_USAGE;
}

/* Start the child process for debug files, and open the symbolizer. Streams are copied first, as each child
 * reads them. */
static int args_open_symbolizer(struct args *args)
{
	int err;

	for (int i = 0; i < args->file_count; i++)
		source_copy_stream(args->files[i]);
	for (int i = 0; i < args->base_count; i++)
		source_copy_stream(args->base[i]);
	crash_guard_start();
	err = symbolizer_open(&args->symbolizer, args->symbols, args->symbols_count,
			      args->debuginfod);
	if (!err)
		args->query.lookup = symbolizer_lookup(args->symbolizer);
	return err;
}

/* Move labels to the query if the command filters samples: then a recording's labels alone do not decide. */
static int args_set_labels(struct args *args, const struct command_option *const *tables)
{
	while (*tables && *tables != args_trace)
		tables++;
	if (!*tables || args->query.retained) {
		if (args->query.trace)
			message_print("%s: --trace and --retained exclude each other",
				      args->command);
		return args->query.trace ? COMMAND_USAGE : COMMAND_OK;
	}
	memcpy(args->query.labels, args->selection.labels, sizeof(args->query.labels));
	args->query.label_count = args->selection.label_count;
	args->selection.in_samples = args->query.label_count;
	return COMMAND_OK;
}

int args_parse(struct args *args, int argc, char **argv, const struct command_option *const *tables)
{
	bool switches = true;
	int status = COMMAND_OK;

	args->files = calloc((size_t)argc + 1, sizeof(*args->files));
	args->base = calloc((size_t)argc + 1, sizeof(*args->base));
	if (!args->files || !args->base) {
		message_print("out of memory");
		return COMMAND_FAILED;
	}
	for (int i = 1; i < argc && status == COMMAND_OK; i++) {
		if (!switches || argv[i][0] != '-' || !argv[i][1])
			args->files[args->file_count++] = argv[i];
		else if (!strcmp(argv[i], "--"))
			switches = false;
		else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			status = COMMAND_HELP;
		else
			status = args_parse_switch(args, argv, argc, &i, tables);
	}
	if (status == COMMAND_OK)
		status = args_set_period(args);
	args->selection.uploads.from = args->query.from;
	args->selection.uploads.to = args->query.to;
	if (status == COMMAND_OK)
		status = args_set_labels(args, tables);
	if (status == COMMAND_OK)
		status = args_set_retained(args);
	if (status == COMMAND_OK)
		status = args_set_waits(args);
	args_set_base(args);
	if (status == COMMAND_OK && !args->file_count) {
		message_print("%s: no file given", args->command);
		status = COMMAND_USAGE;
	}
	if (status == COMMAND_OK && (args->symbols_count || args->debuginfod) &&
	    args_open_symbolizer(args))
		status = COMMAND_FAILED;
	return status;
}

uint32_t args_limit(const struct args *args, uint32_t count)
{
	return args->limit && args->limit < count ? args->limit : count;
}

static void pattern_free(struct pattern *pattern)
{
	if (pattern->set)
		regfree(&pattern->regex);
}

void args_free(struct args *args)
{
	pattern_free(&args->query.thread);
	pattern_free(&args->query.include);
	pattern_free(&args->query.exclude);
	pattern_free(&args->selection.process);
	pattern_free(&args->selection.host);
	pattern_free(&args->selection.tag);
	pattern_free(&args->selection.uploads.group);
	pattern_free(&args->selection.uploads.machine);
	while (args->query.rename_count)
		regfree(&args->query.renames[--args->query.rename_count].regex);
	symbolizer_close(args->symbolizer);
	free(args->files);
	free(args->base);
	args->files = args->base = NULL;
}
