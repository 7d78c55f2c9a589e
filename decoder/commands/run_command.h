/* Child process of `run`. */
#ifndef DECODER_COMMANDS_RUN_COMMAND_H
#define DECODER_COMMANDS_RUN_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A running command, or one that has ended. */
struct run_command {
	char **argv;
	pid_t pid;
	int status;         /* from waitpid(2) */
	bool is_traced;     /* the agent is put into this static program */
	int64_t started_ns; /* since 1970, by the clock of file timestamps */
	uint64_t lived_ns;
	uint64_t cpu_ns; /* of the process and of its children that it waited for */
};

/* Call once, before any child is started: SIGCHLD has its default action from now on, because children have no status while
 * it is ignored. The command of run_command_wait() has the action of before. */
void run_command_reset_sigchld(void);

/* Start ARGV, wait until it ends, and forward signals meanwhile. PAYLOAD is put into a static program (attach/tracing/tracer.h);
 * NULL: nothing is. Returns 0, or -errno of execvp(3). */
int run_command_wait(struct run_command *command, char **argv, const char *payload);

/* Exit by the command's signal, or return its exit status. */
int run_command_repeat_exit(const struct run_command *command);

struct run_spool;

/* Print where the command's profiles are, or why there are none, and what is left in SPOOL. */
void run_report_profiles(const struct run_command *command, const struct run_spool *spool);

#endif
