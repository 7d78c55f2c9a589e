/* The command line of the reading commands: one struct, one table of switches that all of them
 * share, and a table of each command's own. */
#ifndef DECODER_COMMANDS_ARGS_H
#define DECODER_COMMANDS_ARGS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/commands/commands.h"

/* What is weighed. METRIC_ANY is cpu where there is any, else the first there is. */
enum metric {
	METRIC_ANY,
	METRIC_CPU,
	METRIC_WALL,
	METRIC_MALLOC,
	METRIC_LIVE, /* allocated and not freed, to the end of the files */
	METRIC_OBJECT,
	METRIC_LIVE_OBJECT,
	METRIC_LOCK,
	METRICS,
};

enum arg_kind {
	ARG_FLAG,     /* bool */
	ARG_NO_FLAG,  /* bool that is set to false */
	ARG_METRIC,   /* the plain switch sets args.metric to the row's offset */
	ARG_STRING,   /* const char * */
	ARG_COUNT,    /* unsigned */
	ARG_RATIO,    /* double, "10%" or "0.1" */
	ARG_REGEX,    /* struct pattern */
	ARG_TIME,     /* struct moment */
	ARG_RENAME,   /* args.renames */
	ARG_FILES,    /* args.base */
	ARG_SYMBOLS,  /* args.symbols */
	ARG_DURATION, /* uint64_t, nanoseconds */
	ARG_IGNORED,
};

struct pattern {
	bool set;
	regex_t regex;
};

/* A point in time as it was typed. */
struct moment {
	enum { MOMENT_NONE, MOMENT_OFFSET, MOMENT_DAY, MOMENT_ABSOLUTE } kind;
	int64_t ns; /* since the start (from the end when negative), since midnight, since 1970 */
};

#define RENAMES_MAX 16
#define SYMBOLS_MAX 16

struct rename {
	regex_t regex;
	const char *name;
};

struct args {
	const char *command;
	char **files;
	int file_count;
	char **base;
	int base_count;

	enum metric metric;
	struct pattern thread, include, exclude;
	struct pattern process, host, tag; /* of the recording, see labels.h */
	struct moment from, to;
	struct rename renames[RENAMES_MAX];
	unsigned rename_count;
	bool threads, lines, simple, full_names, total, by_count, weighted;
	bool places; /* frames keep address, file and line, though they are not shown */

	/* Where debug files are, and who reads them: NULL where it is not asked for. */
	const char *symbols[SYMBOLS_MAX];
	unsigned symbols_count;
	bool debuginfod;
	struct symbolizer *symbolizer;

	bool leak;
	double tail; /* with leak: the youngest share that is left out */

	const char *output; /* -o */
	bool json, summary, include_non_pollcatch, reverse, inverted;
	const char *title, *type;
	unsigned limit, stack_depth;
	double min_share;
	uint64_t min_ns;
	unsigned jobs;
};

/* The switches that commands share. A command lists those that it honours: another's are refused. */
extern const struct command_option args_metrics[]; /* what is weighed, and how */
extern const struct command_option args_total[];
extern const struct command_option args_filters[]; /* by thread and by frames */
extern const struct command_option args_thread[];  /* by thread alone */
extern const struct command_option args_period[];
extern const struct command_option args_sources[]; /* by what a recording is labelled with */
extern const struct command_option args_threads[]; /* threads in what is printed */
extern const struct command_option args_renames[];
extern const struct command_option args_names[];   /* how functions are named */
extern const struct command_option args_reading[]; /* by whom, and from where */
extern const struct command_option args_zip[];

/* The defaults of a command. */
#define ARGS_INIT(name)                                          \
	{                                                        \
		.command = (name), .weighted = true, .tail = 0.1 \
	}

/* Parse ARGV by TABLES, a list. Returns COMMAND_OK (release with args_free), COMMAND_HELP, or
 * COMMAND_USAGE after a line on stderr. Either way args_free() is fine. */
int args_parse(struct args *args, int argc, char **argv,
	       const struct command_option *const *tables);
void args_free(struct args *args);

/* The other readings of one value; also what the fuzzer drives. 0 or -EINVAL. */
int args_duration(const char *text, uint64_t *ns);
int args_moment(const char *text, struct moment *moment);

/* Whether regcomp(3) can be given TEXT: it may fill the memory with repetitions. */
bool args_regex_is_sane(const char *text);

#endif
