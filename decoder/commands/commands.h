/* The commands of asprof-agent. A row of the table in main.c is one command; from the rows come
 * the dispatch, `--help` and the words for shell completion. */
#ifndef DECODER_COMMANDS_COMMANDS_H
#define DECODER_COMMANDS_COMMANDS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What a command returns: the exit status, or COMMAND_HELP to have its help printed. A command
 * that returns COMMAND_USAGE has said what is wrong; main() then points to its help. */
enum { COMMAND_OK = 0, COMMAND_FAILED = 1, COMMAND_USAGE = 2, COMMAND_HELP = -1 };

/* One switch of a command, for its help and completion; kind and offset are for args_parse().
 * Tables end with a row of no name, lists of them with NULL. */
struct command_option {
	const char *name;     /* "--thread", or "-n" */
	const char *argument; /* "REGEX"; NULL for a plain switch */
	const char *help;
	int kind;
	size_t offset;
};

struct command {
	const char *name;
	int (*function)(int argc, char **argv);      /* argv[0] is the command's name */
	const char *arguments;                       /* "FILE… [-o OUT]" */
	const char *help;                            /* one sentence */
	const char *example;                         /* a whole command line */
	const struct command_option *const *options; /* its own first, then those it shares */
	size_t own;                                  /* how many tables are its own */
};

int cmd_doctor(int argc, char **argv);
int cmd_options(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_pull(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_start(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_flush(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_heap(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_threads(int argc, char **argv);
int cmd_summary(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_collapsed(int argc, char **argv);
int cmd_flamegraph(int argc, char **argv);
int cmd_lifetimes(int argc, char **argv);
int cmd_leaks(int argc, char **argv);
int cmd_pprof(int argc, char **argv);
int cmd_duration(int argc, char **argv);
int cmd_nativemem(int argc, char **argv);
int cmd_longpolls(int argc, char **argv);

extern const struct command_option *const summary_options[];
extern const struct command_option *const top_options[];
extern const struct command_option *const collapsed_options[];
extern const struct command_option *const flamegraph_options[];
extern const struct command_option *const lifetimes_options[];
extern const struct command_option *const leaks_options[];
extern const struct command_option *const pprof_options[];
extern const struct command_option *const duration_options[];
extern const struct command_option *const nativemem_options[];
extern const struct command_option *const longpolls_options[];
extern const struct command_option *const options_options[];
extern const struct command_option *const run_options[];
extern const struct command_option *const pull_options[];
extern const struct command_option *const doctor_options[];
extern const struct command_option *const recover_options[];

extern const struct command_option *const ps_options[];
extern const struct command_option *const status_options[];
extern const struct command_option *const order_options[];
extern const struct command_option *const set_options[];
extern const struct command_option *const profile_options[];
extern const struct command_option *const take_options[];

/* The number of a process that TEXT is; false after a line on stderr, also for NULL. */
bool command_pid(const char *text, pid_t *pid);

/* Where the preload is that `run` puts into LD_PRELOAD: its path, or its name alone where the dynamic linker
 * is left to find it. Returns 0, or a status after saying why. */
int run_find_preload(char path[PATH_MAX]);

#endif
