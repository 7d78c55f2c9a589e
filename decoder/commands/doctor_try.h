/* doctor --try: runs the program for a moment under the preload, and reads its profiles. */
#ifndef DECODER_COMMANDS_DOCTOR_TRY_H
#define DECODER_COMMANDS_DOCTOR_TRY_H

#include "decoder/doctor/doctor.h"

/* Run ARGV for at most two seconds, with profiles in DIRECTORY. Then end it and all processes that it started: by
 * SIGTERM, and a few seconds later by SIGKILL. Sets the members of TRIAL that describe the end of the program.
 * Returns 0 or -errno: that of execvp(3), or -EINTR if trial->signo asked this process to end. */
int doctor_try_run(struct doctor_trial *trial, char **argv, const char *directory);

/* Read the profiles in DIRECTORY, and set the other members of TRIAL. Without profiles there are no samples. Returns 0,
 * or COMMAND_FAILED after a message. */
int doctor_try_read(struct doctor_trial *trial, const char *directory);

#endif
