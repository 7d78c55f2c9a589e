/* What came of a command that ran under the preload. */
#include "decoder/commands/run_wait.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/options/admit.h"
#include "core/options/config.h"
#include "decoder/commands/preloadable.h"
#include "decoder/output/say.h"
#include "profile/basics/text.h"
#include "upload/files/place.h"

struct found {
	char directory[PATH_MAX];
	unsigned profiles, own; /* that are new there, and those of the command's own process */
};

/* Count what was written into DIRECTORY since the command began. */
static bool count_in(struct found *found, const struct run_command *command, const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	struct stat status;
	char own[16];

	if (!dir)
		return false;
	snprintf(own, sizeof(own), "_%d_", (int)command->pid);
	while ((entry = readdir(dir))) {
		if (*entry->d_name == '.' || !text_ends_in(entry->d_name, ".jfr") ||
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
static void look(struct found *found, const struct run_command *command, const char *directory)
{
	char below[PATH_MAX + 16];

	snprintf(below, sizeof(below), "%s/%u", directory, (unsigned)geteuid());
	if (!count_in(found, command, directory))
		count_in(found, command, below);
}

static void look_everywhere(struct found *found, const struct run_command *command,
			    const struct config *config)
{
	const char *tmp = getenv("TMPDIR");
	char own[PATH_MAX];

	if (config->local_dir) {
		look(found, command, config->local_dir);
		return;
	}
	look(found, command, PLACE_SHARED);
	snprintf(own, sizeof(own), "%s/asprof-agent-%u", tmp && *tmp ? tmp : "/tmp",
		 (unsigned)geteuid());
	if (!found->profiles)
		look(found, command, own);
}

/* Why there is none of the command itself, where that can be told; else "". */
static void find_reason(char *reason, size_t size, const struct run_command *command,
			const struct config *config)
{
	const char *slash = strrchr(*command->argv, '/');
	struct preloadable file;
	char path[PATH_MAX], why[PRELOADABLE_LINE_MAX] = "", delay[TEXT_NUMBER];

	if (!config->enabled) {
		snprintf(reason, size, OPTION_PREFIX "ENABLED is off");
		return;
	}
	if (!config_admits(config, slash ? slash + 1 : *command->argv)) {
		snprintf(reason, size, OPTION_PREFIX "PROCESS leaves it out");
		return;
	}
	if (!preloadable_find(*command->argv, path)) {
		preloadable_look(&file, "", path);
		if (file.obstacle != PRELOADABLE)
			preloadable_why(&file, why);
	}
	if (*why)
		snprintf(reason, size, "%s", why);
	else if (command->lived_ns < config->start_delay_ns)
		snprintf(reason, size, "it ended within " OPTION_PREFIX "START_DELAY, %s",
			 text_duration(delay, (double)config->start_delay_ns));
}

void run_report(const struct run_command *command)
{
	char problem[OPTION_PROBLEM_MAX], reason[PRELOADABLE_LINE_MAX] = "";
	struct found found = { 0 };
	struct config config;

	if (config_read(&config, environ, problem)) {
		say("run: no profile, as a setting is wrong: %s", problem);
		config_free(&config);
		return;
	}
	if (config.local_dir || !config.s3_bucket)
		look_everywhere(&found, command, &config);
	if (!found.own)
		find_reason(reason, sizeof(reason), command, &config);
	if (found.profiles)
		say("run: %u profile%s in %s%s%s%s%s", found.profiles,
		    found.profiles == 1 ? "" : "s", found.directory, *reason ? ", none of " : "",
		    *reason ? *command->argv : "", *reason ? ": " : "", reason);
	else if (*reason)
		say("run: no profile of %s: %s", *command->argv, reason);
	else if (config.s3_bucket && !config.local_dir)
		say("run: profiles are sent to s3://%s/%s", config.s3_bucket,
		    config.s3_prefix ? config.s3_prefix : "");
	else
		say("run: no profile came; `asprof-agent doctor %s` looks for the reason",
		    *command->argv);
	config_free(&config);
}
