/* Report of `run` after its command: where the profiles are, or why there are none. */
#include "decoder/commands/run_command.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/options/admit.h"
#include "core/options/config.h"
#include "decoder/commands/commands.h"
#include "decoder/doctor/doctor.h"
#include "decoder/commands/run_spool.h"
#include "decoder/output/message.h"
#include "profile/basics/text.h"
#include "profile/jfr/labels.h"
#include "upload/files/place.h"

struct found {
	char directory[PATH_MAX];
	char **paths;           /* new profiles there */
	unsigned profiles, own; /* their number, and that of the command's own process */
	bool has_older;         /* there are others */
};

static void found_add(struct found *found, const char *directory, const char *name)
{
	char **grown = reallocarray(found->paths, found->profiles + 1, sizeof(*grown));

	if (!grown)
		return;
	found->paths = grown;
	if (asprintf(&grown[found->profiles], "%s/%s", directory, name) >= 0)
		found->profiles++;
}

static void found_free(struct found *found)
{
	for (unsigned i = 0; i < found->profiles; i++)
		free(found->paths[i]);
	free(found->paths);
}

/* Count the profiles that were written into DIRECTORY since the command started. Returns false if there are none. */
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
		if ((int64_t)clock_time_ns(&status.st_ctim) < command->started_ns) {
			found->has_older = true;
			continue;
		}
		found_add(found, directory, entry->d_name);
		found->own += strstr(entry->d_name, own) != NULL;
	}
	closedir(dir);
	if (found->profiles)
		snprintf(found->directory, sizeof(found->directory), "%s", directory);
	return found->profiles;
}

/* Count profiles in DIRECTORY, or in the user's subdirectory, which the local reporter uses in a shared directory. */
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

/* Print the heaviest functions of all processes of the command, which may be a shell, to stderr. A child process does
 * it, without messages: reading profiles may fail, and must not change the exit of `run`. */
static void print_heaviest(const struct found *found)
{
	static const char *const words[] = { "top", "-n", "3", "--frames", "script" };
	const unsigned count = sizeof(words) / sizeof(*words);
	char **argv = calloc(count + found->profiles + 1, sizeof(*argv));
	pid_t pid;

	if (!argv)
		return;
	memcpy(argv, words, sizeof(words));
	memcpy(argv + count, found->paths, found->profiles * sizeof(*argv));
	pid = fork();
	if (!pid) {
		setenv("PAGER", "", 1); /* three rows need none */
		if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 && freopen("/dev/null", "w", stderr))
			cmd_top((int)(count + found->profiles), argv);
		_exit(fflush(stdout));
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(argv);
}

/* Findings of the doctor: the reason for missing profiles, and the names of notes. */
struct findings {
	struct doctor_subject subject; /* must be first: findings_add() casts */
	char reason[PRELOADABLE_REASON_MAX];
	char remedy[256]; /* a sentence, or "" */
	char notes[256];
	char engine[512]; /* the note on the engine's library, or "" */
	bool is_traced;   /* a static program with an agent */
};

/* A note after a run is useful only if it explains a profile that differs from what the user expects. */
static bool note_is_useful(const char *name)
{
	return !strcmp(name, "java") || !strcmp(name, "go") || !strcmp(name, "malloc");
}

static void findings_set_reason(struct findings *f, const char *line, const char *remedy)
{
	snprintf(f->reason, sizeof(f->reason), "%s", line);
	snprintf(f->remedy, sizeof(f->remedy), "%s", remedy);
}

static void findings_add(struct doctor_subject *subject, enum severity severity, const char *name,
			 const char *line, const char *remedy)
{
	struct findings *f = (struct findings *)subject;
	size_t n = strlen(f->notes);

	if (f->is_traced && !strcmp(name, "static"))
		return;
	if (severity == SEVERITY_NOTE && !strcmp(name, "engine"))
		snprintf(f->engine, sizeof(f->engine), "%s", line);
	else if (severity == SEVERITY_NOTE && note_is_useful(name))
		snprintf(f->notes + n, sizeof(f->notes) - n, "%s%s", n ? ", " : "", name);
	else if (severity != SEVERITY_NOTE && !*f->reason)
		findings_set_reason(f, line, remedy);
}

/* Find the reason for missing profiles of the command itself. What `run` observed takes precedence over the doctor's
 * finding. The reason is "" if none is known. */
static void find_reason(struct findings *f, const struct run_command *command,
			const struct run_spool *spool)
{
	const struct config *config = &f->subject.config;
	char why[PRELOADABLE_REASON_MAX] = "", delay[TEXT_NUMBER];

	if (!command->is_traced)
		preloadable_reason(&f->subject.file, why);
	if (!config->enabled)
		findings_set_reason(f, OPTION_PREFIX "ENABLED is off", "");
	else if (!config_admits(config, text_base_name(*command->argv)))
		findings_set_reason(f, OPTION_PREFIX "PROCESS excludes it", "");
	else if (*why)
		findings_set_reason(f, why, preloadable_remedy(&f->subject.file));
	else if (!*f->reason && !spool->running && command->lived_ns < config->start_delay_ns)
		snprintf(f->reason, sizeof(f->reason),
			 "it ended within " OPTION_PREFIX "START_DELAY, %s",
			 text_duration(delay, (double)config->start_delay_ns));
}

/* True if the program mostly waited: it used less than a quarter of one processor, and was sampled by wall clock. */
static bool waited_mostly(const struct run_command *command, const struct config *config)
{
	return config->wall_interval_ns != OPTION_OFF &&
	       command->lived_ns > 2 * config->wall_interval_ns &&
	       command->cpu_ns < command->lived_ns / 4;
}

/* Store the name of the process of the profile PATH, without its ID, in NAME. */
static void process_name(const char *path, char name[NAME_MAX + 1])
{
	struct buf labels = BUF_INIT(PATH_MAX + sizeof("process="));
	const char *process;

	labels_write(&labels, path, NULL);
	process = buf_string(&labels);
	process = process && strchr(process, '=') ? strchr(process, '=') + 1 : "";
	snprintf(name, NAME_MAX + 1, "%s", process);
	if (strrchr(name, '_'))
		*strrchr(name, '_') = '\0';
	buf_free(&labels);
}

/* Return the program whose notes are useful. If the command is a shell or a similar program, that is the program of the
 * largest profile, if it is found by its NAME. */
static const char *find_noted_program(const struct found *found, const char *command,
				      char name[NAME_MAX + 1])
{
	char path[PATH_MAX];
	struct stat status;
	off_t largest = 0;

	for (unsigned i = 0; i < found->profiles; i++)
		if (!stat(found->paths[i], &status) && status.st_size > largest) {
			largest = status.st_size;
			process_name(found->paths[i], name);
		}
	if (!largest || !strcmp(name, text_base_name(command)) ||
	    preloadable_find_program(name, path))
		return command;
	return name;
}

/* Replace the notes of F by those on PROGRAM. */
static void find_notes_on(struct findings *f, const char *program)
{
	struct findings other = { .is_traced = false };

	doctor_select_program(&other.subject, program);
	doctor_run_checks(&other.subject, DOCTOR_AFTER_RUN, findings_add);
	memcpy(f->notes, other.notes, sizeof(f->notes));
	memcpy(f->engine, other.engine, sizeof(f->engine));
	config_free(&other.subject.config);
}

/* Print the two commands that say most about the profiles of this run. */
static void print_continuation(const struct found *found, const struct run_command *command,
			       const struct config *config)
{
	const bool waited = waited_mostly(command, config);
	const struct {
		bool fits;
		const char *text;
	} all[] = {
		{ waited, "waits " },
		{ config->native_mem_bytes != OPTION_OFF, "leaks " },
		{ config->lock_ns != OPTION_OFF, "top --lock " },
		{ !waited, "top " },
		{ waited, "flamegraph --wall -o flame.html " },
		{ true, "flamegraph -o flame.html " },
	};
	const char *texts[2];
	char from[32] = "";
	time_t started = command->started_ns / 1000000000;
	struct tm utc;

	for (size_t i = 0, n = 0; n < 2; i++)
		if (all[i].fits)
			texts[n++] = all[i].text;
	if (found->has_older)
		strftime(from, sizeof(from), "--from %H:%M:%S ", gmtime_r(&started, &utc));
	message_print("run: continue with `asprof-agent %s%s%s` or `asprof-agent %s%s%s`", texts[0],
		      from, found->directory, texts[1], from, found->directory);
}

static void report_spool(const struct run_spool *spool)
{
	if (spool->running)
		message_print("run: %u process%s of the command still run%s; if killed, the next "
			      "`run` with profiles in %s recovers the last report",
			      spool->running, spool->running == 1 ? "" : "es",
			      spool->running == 1 ? "s" : "", spool->out);
	if (spool->waiting)
		message_print("run: %u report%s could not be delivered; `asprof-agent recover -o "
			      "DIR %s` writes profiles instead",
			      spool->waiting, spool->waiting == 1 ? "" : "s", spool->path);
}

void run_report_profiles(const struct run_command *command, const struct run_spool *spool)
{
	struct findings f = { .is_traced = command->is_traced };
	const struct config *config = &f.subject.config;
	struct found found = { 0 };
	char notes[sizeof(f.notes) + PATH_MAX + 64] = "", name[NAME_MAX + 1];
	const char *program = *command->argv;

	doctor_select_program(&f.subject, *command->argv);
	doctor_run_checks(&f.subject, DOCTOR_AFTER_RUN, findings_add);
	if (*f.subject.problem) {
		message_print("run: no profile, as a setting is invalid: %s", f.subject.problem);
		goto out;
	}
	if (config->local_dir || !config->s3_bucket || spool->recovered)
		find_profiles(&found, command, config);
	if (found.own)
		*f.reason = '\0';
	else
		find_reason(&f, command, spool);
	if (spool->recovered)
		snprintf(notes, sizeof(notes),
			 "; %u recovered, without the last two seconds at most", spool->recovered);
	program = find_noted_program(&found, program, name);
	if (program == name)
		find_notes_on(&f, program);
	if (*f.notes)
		snprintf(notes + strlen(notes), sizeof(notes) - strlen(notes),
			 "; `asprof-agent doctor %s` has notes: %s", program, f.notes);
	if (found.profiles)
		message_print("run: %u profile%s in %s%s%s%s%s%s", found.profiles,
			      found.profiles == 1 ? "" : "s", found.directory,
			      *f.reason ? ", none of " : "", *f.reason ? *command->argv : "",
			      *f.reason ? ": " : "", f.reason, *f.reason ? "" : notes);
	else if (*f.reason)
		message_print("run: no profile of %s: %s%s%s", *command->argv, f.reason,
			      *f.remedy ? ". " : "", f.remedy);
	else if (config->s3_bucket && !config->local_dir)
		message_print("run: profiles are sent to s3://%s/%s%s", config->s3_bucket,
			      config->s3_prefix ? config->s3_prefix : "", notes);
	else if (spool->running)
		; /* report_spool() prints it */
	else if (config->spool_dir)
		message_print(
			"run: no profile was made yet; `asprof-agent recover -o DIR %s` makes "
			"one if the program was killed",
			config->spool_dir);
	else
		message_print("run: no profile was made; `asprof-agent doctor %s` searches for the "
			      "reason, and ASPROF_AGENT_LOG=info may print it",
			      *command->argv);
	report_spool(spool);
	/* The agent itself reports a file that exists, and cannot be loaded. */
	if (*f.engine && *config->lib == '/' && access(config->lib, F_OK))
		message_print("run: %s", f.engine);
	if (found.profiles) {
		print_heaviest(&found);
		print_continuation(&found, command, config);
	}
	found_free(&found);
out:
	config_free(&f.subject.config);
}
