/* Private spool of `run`. The agent keeps the running recordings of the command and of its children there. What a
 * process could not report, because it was killed, becomes a profile after the command has ended.
 *
 * The spool is a hidden directory below that of the profiles, or below the user's own directory. It has a lock file
 * while its `run` lives. A later `run` recovers and removes what an ended one left. */
#ifndef DECODER_COMMANDS_RUN_SPOOL_H
#define DECODER_COMMANDS_RUN_SPOOL_H

#include <limits.h>

struct run_spool {
	char out[PATH_MAX];  /* directory of the profiles */
	char path[PATH_MAX]; /* "": none */
	int lock;
	unsigned recovered; /* profiles made of what killed processes left */
	unsigned running;   /* processes that use the spool, or will after START_DELAY */
	unsigned waiting;   /* reports that only a remote destination lacks */
};

/* Make the spool and set ASPROF_AGENT_SPOOL_DIR. First recover the spools of ended `run`s, and print their number.
 * Does nothing if the user has set a spool, if the settings are invalid, or if no directory is writable. */
void run_spool_open(struct run_spool *spool);

/* Recover SPOOL and remove it, unless a process still uses it or a report waits in it. */
void run_spool_close(struct run_spool *spool);

#endif
