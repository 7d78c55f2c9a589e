/* recover: makes profiles from what killed processes left in a spool. */
#include "decoder/commands/args.h"
#include "decoder/output/progress.h"
#include "decoder/output/message.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "upload/files/dir.h"
#include "upload/files/place.h"
#include "upload/recover/recover.h"

static const struct command_option own_options[] = {
	{ "-o", "DIR", "write all reports there as profiles, and deliver none", ARG_STRING,
	  offsetof(struct args, output) },
	{ "--dry-run", NULL, "show what would be recovered, and change nothing", ARG_FLAG,
	  offsetof(struct args, dry) },
	{ 0 },
};

const struct command_option *const recover_options[] = { own_options, NULL };

struct recovery {
	const struct args *args;
	const char *dir; /* as the user typed it */
	struct progress progress;
	unsigned seen, failed, waiting;
};

static void print_destinations(const struct cJSON *names)
{
	const cJSON *name;

	cJSON_ArrayForEach(name, names)
		print_clean("%s %s", name == names->child ? ", for" : " and", name->valuestring);
}

static void print_recovered(const struct recovery *r, const struct recover_result *result)
{
	const struct report *report = result->report;

	if (result->made)
		print_clean("%s/%s: ", r->args->output ? r->args->output : r->dir, result->made);
	else
		print_clean("%s/%s: would be recovered: ", r->dir, result->name);
	print_clean("%llu samples of %s, process %d, %.1f s",
		    (unsigned long long)report->samples_taken, report->executable, (int)report->pid,
		    (double)(report->end_ms - report->start_ms) / 1000);
	if (result->left_out)
		print_clean(", without %llu unfinished bytes",
			    (unsigned long long)result->left_out);
	if (!r->args->output)
		print_destinations(result->pending);
	putchar('\n');
}

static void print_waiting(const struct recovery *r, const struct recover_result *result)
{
	print_clean("%s/%s: awaits its delivery: %s, process %d", r->dir, result->name,
		    result->report->executable, (int)result->report->pid);
	print_destinations(result->pending);
	putchar('\n');
}

static void recovery_print_result(void *context, const struct recover_result *result)
{
	struct recovery *r = context;

	progress_clear(&r->progress);
	r->seen++;
	switch (result->outcome) {
	case RECOVER_MADE:
		print_recovered(r, result);
		r->waiting += !r->args->output;
		break;
	case RECOVER_WAITS:
		print_waiting(r, result);
		r->waiting++;
		break;
	case RECOVER_ALIVE:
		print_clean("%s/%s: its process is running\n", r->dir, result->name);
		break;
	case RECOVER_NOTHING:
		print_clean("%s/%s: already reported completely%s\n", r->dir, result->name,
			    r->args->dry ? "" : "; removed");
		break;
	case RECOVER_FOREIGN:
		message_print(
			"%s/%s: it belongs to another user, and only that user can recover it",
			r->dir, result->name);
		r->failed++;
		break;
	case RECOVER_DAMAGED:
		message_print("%s/%s: it is damaged and contains nothing to recover%s", r->dir,
			      result->name, r->args->dry ? "" : "; removed");
		r->failed++;
		break;
	case RECOVER_FAILED:
		message_print("%s/%s: %s", r->dir, result->name, strerror(-result->err));
		r->failed++;
		break;
	}
	fflush(stdout);
}

static bool recovery_show_progress(void *context)
{
	struct recovery *r = context;

	progress_show(&r->progress, "%s: %u done", r->dir, r->seen);
	return true;
}

static int recover_directory(struct recovery *r, int dir, int out)
{
	const struct recover_how how = { .dry = r->args->dry,
					 .finished = true,
					 .out = out,
					 .go_on = recovery_show_progress,
					 .on_result = recovery_print_result,
					 .context = r };
	int made = recover_spool(dir, &how);

	if (made == -EBUSY)
		message_print("%s: another process is recovering it now", r->dir);
	else if (made < 0)
		message_print("%s: %s", r->dir, strerror(-made));
	return made;
}

/* Recover the spool NAME in DIR, if it exists. */
static int recover_subdirectory(struct recovery *r, int dir, const char *name, int out)
{
	int own = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), made = 0;

	if (own < 0)
		return 0;
	made = recover_directory(r, own, out);
	close(own);
	return made;
}

/* Recover a spool. In a directory that all users may write to, each user has a subdirectory (SPOOL_DIR). `run` has
 * subdirectories in that of its profiles. */
static int recover_spool_directory(struct recovery *r, int out)
{
	int dir = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), made, err;
	struct dirent *entry;
	DIR *listing;
	char name[16];

	if (dir < 0) {
		message_print("%s: %s", r->dir, strerror(errno));
		return -errno;
	}
	made = recover_directory(r, dir, out);
	snprintf(name, sizeof(name), "%u", geteuid());
	if (made >= 0)
		made = recover_subdirectory(r, dir, name, out);
	listing = dir_list(dir, &err);
	while (listing && made >= 0 && (entry = readdir(listing)))
		if (place_is_of_run(entry->d_name))
			made = recover_subdirectory(r, dir, entry->d_name, out);
	if (listing)
		closedir(listing);
	close(dir);
	return made;
}

static int recover_all(const struct args *args, int out)
{
	struct recovery r = { .args = args };
	bool failed = false;

	progress_start(&r.progress);
	for (int i = 0; i < args->file_count; i++) {
		r.dir = args->files[i];
		failed |= recover_spool_directory(&r, out) < 0;
	}
	progress_clear(&r.progress);
	if (!r.seen && !failed)
		message_print("no killed process left anything");
	if (r.waiting && !args->dry)
		message_print("%u report%s in the spool until a process with this "
			      "ASPROF_AGENT_SPOOL_DIR and the same destination delivers %s; "
			      "recover -o DIR writes profiles instead",
			      r.waiting, r.waiting == 1 ? " waits" : "s wait",
			      r.waiting == 1 ? "it" : "them");
	return failed || r.failed ? COMMAND_FAILED : COMMAND_OK;
}

int cmd_recover(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	int status = args_parse(&args, argc, argv, recover_options), out = -1;

	if (status == COMMAND_OK && !args.file_count) {
		message_print(
			"recover: no directory given; it is the value of ASPROF_AGENT_SPOOL_DIR");
		status = COMMAND_USAGE;
	}
	if (status == COMMAND_OK && args.output && !args.dry) {
		out = dir_make(args.output, 0755);
		if (out < 0) {
			message_print("%s: %s", args.output, strerror(-out));
			status = COMMAND_FAILED;
		}
	}
	if (status == COMMAND_OK)
		status = recover_all(&args, out);
	if (out >= 0)
		close(out);
	args_free(&args);
	return status;
}
