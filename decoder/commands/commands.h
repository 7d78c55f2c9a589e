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
	const struct command_option *const *options; /* an own table, then shared ones */
	bool shared_only;                            /* there is no own table */
};

/* A command with switches: its function and its tables of switches. */
#define COMMAND(name)                          \
	int cmd_##name(int argc, char **argv); \
	extern const struct command_option *const name##_options[]

COMMAND(doctor);
COMMAND(options);
COMMAND(run);
COMMAND(pull);
COMMAND(recover);
COMMAND(ps);
COMMAND(cost);
COMMAND(attach);
COMMAND(status);
COMMAND(set);
COMMAND(profile);
COMMAND(summary);
COMMAND(top);
COMMAND(collapsed);
COMMAND(flamegraph);
COMMAND(waits);
COMMAND(heatmap);
COMMAND(lifetimes);
COMMAND(leaks);
COMMAND(pprof);
COMMAND(export);
COMMAND(timeline);
COMMAND(duration);
COMMAND(nativemem);
COMMAND(longpolls);

int cmd_detach(int argc, char **argv);
int cmd_control(int argc, char **argv); /* start, stop, flush: argv[0] names the request */
int cmd_heap(int argc, char **argv);
int cmd_threads(int argc, char **argv);

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

/* Block the signals that end a command (HUP, INT, TERM); *MASK is the former mask. */
void ending_signals_block(sigset_t *mask);

/* Put the preload first in this process's LD_PRELOAD, unless it is already there. Returns 0, or a status after a
 * message. */
int run_set_preload(void);

#endif
