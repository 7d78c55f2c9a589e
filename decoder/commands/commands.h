/* Commands of asprof-agent. main.c has a table with one row per command, for dispatch, `--help` and shell
 * completion. */
#ifndef DECODER_COMMANDS_COMMANDS_H
#define DECODER_COMMANDS_COMMANDS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Result of a command: the exit status, or COMMAND_HELP to print its help. For COMMAND_USAGE the command has printed
 * the error, and main() refers to the help. */
enum { COMMAND_OK = 0, COMMAND_FAILED = 1, COMMAND_USAGE = 2, COMMAND_HELP = -1 };

/* One switch of a command, for help and completion. kind and offset are for args_parse(). A table ends with a
 * row without name; a list of tables ends with NULL. */
struct command_option {
	const char *name;     /* "--thread", or "-n" */
	const char *argument; /* "REGEX"; NULL: a switch without argument */
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
	const struct command_option *const *options; /* own tables first, then shared ones */
	size_t own;                                  /* number of own tables */
};

int cmd_doctor(int argc, char **argv);
int cmd_options(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_pull(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_cost(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_detach(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_control(int argc, char **argv); /* start, stop, flush: argv[0] names the request */
int cmd_set(int argc, char **argv);
int cmd_heap(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_threads(int argc, char **argv);
int cmd_summary(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_collapsed(int argc, char **argv);
int cmd_flamegraph(int argc, char **argv);
int cmd_waits(int argc, char **argv);
int cmd_heatmap(int argc, char **argv);
int cmd_lifetimes(int argc, char **argv);
int cmd_leaks(int argc, char **argv);
int cmd_pprof(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_timeline(int argc, char **argv);
int cmd_duration(int argc, char **argv);
int cmd_nativemem(int argc, char **argv);
int cmd_longpolls(int argc, char **argv);

extern const struct command_option *const summary_options[];
extern const struct command_option *const top_options[];
extern const struct command_option *const attach_options[];
extern const struct command_option *const cost_options[];
extern const struct command_option *const collapsed_options[];
extern const struct command_option *const flamegraph_options[];
extern const struct command_option *const waits_options[];
extern const struct command_option *const heatmap_options[];
extern const struct command_option *const lifetimes_options[];
extern const struct command_option *const leaks_options[];
extern const struct command_option *const pprof_options[];
extern const struct command_option *const export_options[];
extern const struct command_option *const timeline_options[];
extern const struct command_option *const duration_options[];
extern const struct command_option *const nativemem_options[];
extern const struct command_option *const longpolls_options[];
extern const struct command_option *const options_options[];
extern const struct command_option *const run_options[];
extern const struct command_option *const pull_options[];
extern const struct command_option *const recover_options[];

extern const struct command_option *const doctor_options[];
extern const struct command_option *const ps_options[];
extern const struct command_option *const status_options[];
extern const struct command_option *const set_options[];
extern const struct command_option *const profile_options[];

/* Returns the row of COMMAND's switch NAME, without a value; NULL: it has none. */
const struct command_option *command_find_switch(const struct command *command, const char *name);

/* Parse a process ID. Returns false after a message; also for NULL. */
bool command_parse_pid(const char *text, pid_t *pid);

/* Get the path of the preload that `run` sets in LD_PRELOAD, or its soname if the dynamic linker must find it.
 * Returns 0, or a status after a message. */
int run_find_preload(char path[PATH_MAX]);

/* Get the path of the file that is put into programs without the preload. Returns false if it is not installed. */
bool run_find_attached(char path[PATH_MAX]);

/* Find async-profiler's library: the one that the setting LIB names, or that of the package for Java. */
bool run_find_async_profiler(char path[PATH_MAX]);

/* Put the agent into process PID, with SETTINGS ("ASPROF_AGENT_NAME=value", NULL-terminated), and wait until it answers; or
 * remove it. IS_FORCED: also where a seccomp filter may end the process. Return 0, or a status after a message. */
int attach_process(pid_t pid, char *const *settings, bool is_forced);
int detach_process(pid_t pid);

/* Put the preload first in this process's LD_PRELOAD, unless it is already there. Returns 0, or a status after a
 * message. */
int run_set_preload(void);

#endif
