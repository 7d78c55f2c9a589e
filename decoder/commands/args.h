/* The command line of the reading commands: one struct, one table of switches that all of them
 * share, and a table of each command's own. */
#ifndef DECODER_COMMANDS_ARGS_H
#define DECODER_COMMANDS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/commands/commands.h"
#include "decoder/input/selection.h"
#include "profile/aggregate/query.h"

enum arg_kind {
	ARG_FLAG,     /* bool */
	ARG_NO_FLAG,  /* bool that is set to false */
	ARG_FRAMES,   /* enum frames_shown */
	ARG_METRIC,   /* the plain switch sets args.metric to the row's offset */
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

	/* What the base is chosen by: as the files are, but for its time where that is given. */
	struct moment base_from, base_to;
	struct selection base_selection;

	enum metric metric;
	struct selection selection;
	struct query query;

	bool total, by_count, full_names;

	/* Where debug files are, and who reads them: NULL where it is not asked for. */
	const char *symbols[SYMBOLS_MAX];
	unsigned symbols_count;
	bool debuginfod;
	struct symbolizer *symbolizer;

	const char *output; /* -o */
	bool dry, json, summary, include_non_pollcatch, reverse, inverted;
	const char *title, *type, *by;
	char trace[33]; /* what query.trace leads to */
	unsigned limit, stack_depth;
	double min_share;
	uint64_t min_ns;
};

/* The switches that commands share. A command lists those that it honours: another's are refused. */
extern const struct command_option args_metrics[]; /* what is weighed, and how */
extern const struct command_option args_total[];
extern const struct command_option args_base[];    /* what it is compared with */
extern const struct command_option args_filters[]; /* by thread and by frames */
extern const struct command_option args_thread[];  /* by thread alone */
extern const struct command_option args_period[];
extern const struct command_option args_sources[]; /* by what a recording is labelled with */
extern const struct command_option args_trace[];   /* by what samples are labelled with, as well */
extern const struct command_option args_bucket[];  /* how a bucket is reached */
extern const struct command_option args_threads[]; /* threads in what is printed */
extern const struct command_option args_renames[];
extern const struct command_option args_names[];   /* how functions are named */
extern const struct command_option args_reading[]; /* by whom, and from where */
extern const struct command_option args_zip[];

/* The defaults of a command. */
#define ARGS_INIT(name)                                           \
	{                                                         \
		.command = (name), .query = QUERY_INIT,           \
		.selection.reach.cache_bytes = BUCKET_CACHE_BYTES \
	}

/* Parse ARGV by TABLES, a list. Returns COMMAND_OK (release with args_free), COMMAND_HELP, or
 * COMMAND_USAGE after a line on stderr. Either way args_free() is fine. */
int args_parse(struct args *args, int argc, char **argv,
	       const struct command_option *const *tables);
void args_free(struct args *args);

/* The other readings of one value; also what the fuzzer drives. 0 or -EINVAL. */
int args_duration(const char *text, uint64_t *ns);
int args_size(const char *text, uint64_t *bytes);
int args_moment(const char *text, struct moment *moment);

/* Whether regcomp(3) can be given TEXT: it may fill the memory with repetitions. */
bool args_regex_is_bounded(const char *text);

#endif
