/* What came of a command that ran under the preload. */
#include "decoder/commands/run_command.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/options/admit.h"
#include "core/options/config.h"
#include "decoder/commands/doctor.h"
#include "decoder/output/message.h"
#include "profile/basics/text.h"
#include "upload/files/place.h"

struct found {
	char directory[PATH_MAX];
	unsigned profiles, own; /* that are new there, and those of the command's own process */
};

/* Count what was written into DIRECTORY since the command began. */
static bool count_profiles_in(struct found *found, const struct run_command *command,
			      const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	struct stat status;
	char own[16];

	if (!dir)
		return false;
	snprintf(own, sizeof(own), "_%d_", (int)command->pid);
	while ((entry = readdir(dir))) {
		if (*entry->d_name == '.' || !text_has_suffix(entry->d_name, ".jfr") ||
		    fstatat(dirfd(dir), entry->d_name, &status, 0))
			continue;
		if ((int64_t)status.st_ctim.tv_sec * 1000000000 + status.st_ctim.tv_nsec <
		    command->started_ns)
			continue;
		found->profiles++;
		found->own += strstr(entry->d_name, own) != NULL;
	}
	closedir(dir);
	if (found->profiles)
		snprintf(found->directory, sizeof(found->directory), "%s", directory);
	return found->profiles;
}

/* Where the local reporter writes to: a directory that others may write to has one for each user. */
static void count_profiles(struct found *found, const struct run_command *command,
			   const char *directory)
{
	char below[PATH_MAX + 16];

	snprintf(below, sizeof(below), "%s/%u", directory, (unsigned)geteuid());
	if (!count_profiles_in(found, command, directory))
		count_profiles_in(found, command, below);
}

static void find_profiles(struct found *found, const struct run_command *command,
			  const struct config *config)
{
	const char *tmp = getenv("TMPDIR");
	char own[PATH_MAX];

	if (config->local_dir) {
		count_profiles(found, command, config->local_dir);
		return;
	}
	count_profiles(found, command, PLACE_SHARED);
	snprintf(own, sizeof(own), "%s/asprof-agent-%u", tmp && *tmp ? tmp : "/tmp",
		 (unsigned)geteuid());
	if (!found->profiles)
		count_profiles(found, command, own);
}

/* What keeps profiles from coming, and the names of what doctor notes besides. */
struct findings {
	struct patient patient; /* the first, so that the one is the other */
	char reason[PRELOADABLE_REASON_MAX];
	char notes[256];
};

static void findings_add(struct patient *patient, enum severity severity, const char *name,
			 const char *line, const char *mend)
{
	struct findings *f = (struct findings *)patient;
	size_t n = strlen(f->notes);

	(void)mend;
	if (severity == SEVERITY_NOTE)
		snprintf(f->notes + n, sizeof(f->notes) - n, "%s%s", n ? ", " : "", name);
	else if (!*f->reason)
		snprintf(f->reason, sizeof(f->reason), "%s", line);
}

/* Why there is none of the command itself, in the words of who has just seen it run; else as the doctor has
 * found it, or "". */
static void find_reason(struct findings *f, const struct run_command *command)
{
	const struct config *config = &f->patient.config;
	const char *slash = strrchr(*command->argv, '/');
	char why[PRELOADABLE_REASON_MAX] = "", delay[TEXT_NUMBER];

	preloadable_reason(&f->patient.file, why);
	if (!config->enabled)
		snprintf(f->reason, sizeof(f->reason), OPTION_PREFIX "ENABLED is off");
	else if (!config_admits(config, slash ? slash + 1 : *command->argv))
		snprintf(f->reason, sizeof(f->reason), OPTION_PREFIX "PROCESS leaves it out");
	else if (*why)
		snprintf(f->reason, sizeof(f->reason), "%s", why);
	else if (!*f->reason && command->lived_ns < config->start_delay_ns)
		snprintf(f->reason, sizeof(f->reason),
			 "it ended within " OPTION_PREFIX "START_DELAY, %s",
			 text_duration(delay, (double)config->start_delay_ns));
}

void run_report_profiles(const struct run_command *command)
{
	struct findings f = { 0 };
	const struct config *config = &f.patient.config;
	struct found found = { 0 };
	char notes[sizeof(f.notes) + PATH_MAX] = "";

	doctor_select_program(&f.patient, *command->argv);
	doctor_run_checks(&f.patient, DOCTOR_AFTER_RUN, findings_add);
	if (*f.patient.problem) {
		say("run: no profile, as a setting is wrong: %s", f.patient.problem);
		goto out;
	}
	if (config->local_dir || !config->s3_bucket)
		find_profiles(&found, command, config);
	if (found.own)
		*f.reason = '\0';
	else
		find_reason(&f, command);
	if (*f.notes)
		snprintf(notes, sizeof(notes), "; doctor's notes on %s: %s", *command->argv,
			 f.notes);
	if (found.profiles)
		say("run: %u profile%s in %s%s%s%s%s%s", found.profiles,
		    found.profiles == 1 ? "" : "s", found.directory, *f.reason ? ", none of " : "",
		    *f.reason ? *command->argv : "", *f.reason ? ": " : "", f.reason,
		    *f.reason ? "" : notes);
	else if (*f.reason)
		say("run: no profile of %s: %s", *command->argv, f.reason);
	else if (config->s3_bucket && !config->local_dir)
		say("run: profiles are sent to s3://%s/%s%s", config->s3_bucket,
		    config->s3_prefix ? config->s3_prefix : "", notes);
	else
		say("run: no profile came; `asprof-agent doctor %s` looks for the reason",
		    *command->argv);
out:
	config_free(&f.patient.config);
}
