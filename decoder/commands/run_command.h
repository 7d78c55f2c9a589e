/* The command that `run` has started: waited for, and told of. */
#ifndef DECODER_COMMANDS_RUN_COMMAND_H
#define DECODER_COMMANDS_RUN_COMMAND_H

#include <stdint.h>
#include <sys/types.h>

/* A command under way, or one that has ended. */
struct run_command {
	char **argv;
	pid_t pid;
	int status;         /* as waitpid(2) has it */
	int64_t started_ns; /* since 1970, by the clock that files are stamped with */
	uint64_t lived_ns;
};

/* Start ARGV, and wait until it ends; signals that others send to this process meanwhile are passed
 * on. Returns 0, or -errno as execvp(3) fails. */
int run_command_wait(struct run_command *command, char **argv);

/* End as it has ended: by its signal, or return its exit status. */
int run_command_repeat_exit(const struct run_command *command);

/* Say in one line on stderr where its profiles went, or why there are none of it. */
void run_report_profiles(const struct run_command *command);

#endif
