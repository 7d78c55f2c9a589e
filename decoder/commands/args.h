/* Command line of the commands that read recordings: one struct for all, tables of shared switches, and a table of
 * each command's own switches. */
#ifndef DECODER_COMMANDS_ARGS_H
#define DECODER_COMMANDS_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "decoder/commands/commands.h"
#include "decoder/input/selection.h"
#include "profile/aggregate/query.h"

enum arg_kind {
	ARG_FLAG,     /* bool */
	ARG_NO_FLAG,  /* bool that is set to false */
	ARG_FRAMES,   /* enum frames_shown */
	ARG_FOLD,     /* uint32_t, a mask of categories */
	ARG_STATES,   /* uint32_t, a mask of enum wait_state */
	ARG_CAUSES,   /* uint32_t, a mask of enum wait_cause */
	ARG_METRIC,   /* sets args.metric to the row's offset */
	ARG_STRING,   /* const char * */
	ARG_COUNT,    /* unsigned */
	ARG_RATIO,    /* double, "10%" or "0.1" */
	ARG_REGEX,    /* struct pattern */
	ARG_TIME,     /* struct moment */
	ARG_RENAME,   /* args.query.renames */
	ARG_LABEL,    /* args.selection.labels */
	ARG_TRACE,    /* args.query.trace */
	ARG_FILES,    /* args.base */
	ARG_SYMBOLS,  /* args.symbols */
	ARG_DURATION, /* uint64_t, nanoseconds */
	ARG_SIZE,     /* uint64_t, bytes */
	ARG_IGNORED,
};

#define SYMBOLS_MAX 16

struct args {
	const char *command;
	char **files;
	int file_count;
	char **base;
	int base_count;

	/* Selection of the base: that of the files, with another time if one is given. */
	struct moment base_from, base_to;
	struct selection base_selection;

	enum metric metric;
	struct selection selection;
	struct query query;

	struct moment at; /* --at and --for: start and length of the period */
	uint64_t for_ns;

	bool total, by_count, full_names;
	bool native, cumulative; /* top */
	bool own;                /* longpolls */
	bool blocked_by;         /* collapsed, flamegraph, heatmap, timeline */

	/* Debug files and their symbolizer; NULL if not requested. */
	const char *symbols[SYMBOLS_MAX];
	unsigned symbols_count;
	bool debuginfod;
	struct symbolizer *symbolizer;

	const char *output; /* -o */
	bool dry, json, summary, include_non_pollcatch, reverse;
	const char *title, *type, *by;
	char trace[33]; /* storage for query.trace */
	unsigned limit, stack_depth, locations;
	double min_share;
	uint64_t min_ns;
	uint64_t row_ns, column_ns;          /* heatmap */
	uint64_t cpu_ns, wall_ns, mem_bytes; /* cost */
};

/* Shared switches. A command lists the tables that it supports, and rejects the others. */
extern const struct command_option args_metrics[]; /* weight of samples */
extern const struct command_option args_live[];    /* weight of retained memory */
extern const struct command_option args_total[];
extern const struct command_option args_base[];    /* base of a comparison */
extern const struct command_option args_filters[]; /* by thread and frames */
extern const struct command_option args_thread[];  /* by thread only */
extern const struct command_option args_waits[];   /* by state and wait cause */
extern const struct command_option args_period[];
extern const struct command_option args_sources[]; /* by labels of recordings */
extern const struct command_option args_trace[];   /* by labels of samples */
extern const struct command_option args_bucket[];  /* access to buckets */
extern const struct command_option args_threads[]; /* threads in the output */
extern const struct command_option args_renames[];
extern const struct command_option args_names[];   /* names of functions */
extern const struct command_option args_reading[]; /* reading of the input */
extern const struct command_option args_zip[];

/* Initial value for the command NAME. */
#define ARGS_INIT(name)                                            \
	{                                                          \
		.command = (name), .query = QUERY_INIT,            \
		.selection.bucket.cache_bytes = BUCKET_CACHE_BYTES \
	}

/* Parse ARGV with TABLES, a list that ends with NULL. Returns COMMAND_OK, COMMAND_HELP, COMMAND_USAGE or
 * COMMAND_FAILED; for the last two a message was printed. Call args_free() in all cases. */
int args_parse(struct args *args, int argc, char **argv,
	       const struct command_option *const *tables);
void args_free(struct args *args);

/* Returns COUNT, at most the limit of -n. */
uint32_t args_limit(const struct args *args, uint32_t count);

/* Parsers of one value; the fuzzer calls them too. Return 0 or -EINVAL. */
int args_duration(const char *text, uint64_t *ns);
int args_size(const char *text, uint64_t *bytes);
int args_moment(const char *text, struct moment *moment);

/* Parse TEXT, names with commas between them, and add them to the mask *MASK. KIND is ARG_FOLD, ARG_STATES or
 * ARG_CAUSES. */
int args_name_list(int kind, const char *text, uint32_t *mask);

/* Returns the names that KIND accepts as a text in OUT. */
const char *args_name_list_text(int kind, struct buf *out);

/* Whether regcomp(3) compiles TEXT with little memory and time. It expands repetitions. */
bool args_regex_is_bounded(const char *text);

#endif
