/* doctor --try: profiles the program for a moment, and checks that names appear. */
#include "decoder/commands/doctor_try.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Smaller shares are a finding. */
#define NAMED_MIN    0.8
#define COMPLETE_MIN 0.8

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* Describe the end of the program: "ended by doctor", "ended itself with status 1". */
static void describe_end(const struct doctor_trial *trial, char *text, size_t size)
{
	if (trial->is_ended)
		snprintf(text, size, "doctor ended it");
	else if (WIFSIGNALED(trial->status))
		snprintf(text, size, "it was killed by signal %d", WTERMSIG(trial->status));
	else
		snprintf(text, size, "it ended with status %d", WEXITSTATUS(trial->status));
}

static void check_samples(struct doctor_subject *p)
{
	const struct doctor_trial *trial = &p->trial;
	char end[64];

	describe_end(trial, end, sizeof(end));
	if (trial->cpu_samples + trial->wall_samples > 0)
		return;
	if (trial->is_ended)
		doctor_add_finding(p, SEVERITY_STOP, "samples",
				   "Correct the other findings; ASPROF_AGENT_LOG=debug prints what "
				   "the agent does.",
				   "no sample in %.1f s of the program, then %s", trial->seconds,
				   end);
	else
		doctor_add_finding(p, SEVERITY_NOTE, "samples",
				   "Try it with arguments that let it run longer.",
				   "no sample: the program ran %.3f s, then %s", trial->seconds,
				   end);
}

static void check_stacks(struct doctor_subject *p)
{
	const struct doctor_trial *trial = &p->trial;

	if (trial->cpu_samples + trial->wall_samples <= 0)
		return;
	if (trial->named < NAMED_MIN)
		doctor_add_finding(p, SEVERITY_NOTE, "names",
				   "Install debug symbols, or read profiles with --symbols DIR or "
				   "--debuginfod; `asprof-agent top` shows which functions lack "
				   "names.",
				   "%.0f%% of the innermost functions have no name",
				   100 * (1 - trial->named));
	if (trial->complete < COMPLETE_MIN)
		doctor_add_finding(p, SEVERITY_NOTE, "stacks",
				   "Build with -fasynchronous-unwind-tables or "
				   "-fno-omit-frame-pointer.",
				   "%.0f%% of the stacks end before the thread's entry",
				   100 * (1 - trial->complete));
}

static void try_in(struct doctor_subject *p, char **argv, const char *directory)
{
	int err = doctor_try_run(&p->trial, argv, directory);

	if (err && err != -EINTR)
		doctor_add_finding(p, SEVERITY_STOP, NULL, "Check its path and its permissions.",
				   "%s cannot be run: %s", *argv, strerror(-err));
	if (err)
		return;
	p->trial.has_run = true;
	if (doctor_try_read(&p->trial, directory))
		doctor_add_finding(p, SEVERITY_STOP, NULL, "Report this as a bug.",
				   "the profiles of the program cannot be read");
	check_samples(p);
	check_stacks(p);
}

void doctor_try(struct doctor_subject *p, char **argv)
{
	const char *parent = getenv("TMPDIR");
	char directory[PATH_MAX];

	p->check = "try";
	/* A finding has the reason. */
	if (!p->is_configured || p->file.obstacle != PRELOADABLE)
		return;
	snprintf(directory, sizeof(directory), "%s/" DOCTOR_SENDER ".XXXXXX",
		 parent && *parent ? parent : "/tmp");
	if (!mkdtemp(directory)) {
		doctor_add_finding(p, SEVERITY_STOP, NULL, "Set TMPDIR to a writable directory.",
				   "%s: %s", directory, strerror(errno));
		return;
	}
	try_in(p, argv, directory);
	nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (p->trial.signo)
		raise(p->trial.signo);
}
