/* recover: what killed processes left in a spool, as profiles. */
#include "decoder/commands/args.h"
#include "decoder/output/progress.h"
#include "decoder/output/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "upload/files/dir.h"
#include "upload/recover/recover.h"

static const struct command_option own_options[] = {
	{ "-o", "DIR", "write profiles there, and deliver nothing", ARG_STRING,
	  offsetof(struct args, output) },
	{ "--dry-run", NULL, "say what there is, and change nothing", ARG_FLAG,
	  offsetof(struct args, dry) },
	{ 0 },
};

const struct command_option *const recover_options[] = { own_options, NULL };

struct recovery {
	const struct args *args;
	const char *dir; /* as it was given */
	struct progress progress;
	unsigned seen, failed;
};

static void print_destinations(const char *names)
{
	for (const char *name = names; name && *name; name += strlen(name) + 1)
		printf("%s %s", name == names ? ", for" : " and", name);
}

static void print_recovered(const struct recovery *r, const struct recover_result *result)
{
	const struct report *report = result->report;

	if (result->made)
		printf("%s/%s: ", r->args->output ? r->args->output : r->dir, result->made);
	else
		printf("%s/%s: would be recovered: ", r->dir, result->name);
	printf("%llu samples of %s, process %d, %.1f s", (unsigned long long)report->samples_taken,
	       report->executable, (int)report->pid,
	       (double)(report->end_ms - report->start_ms) / 1000);
	if (result->left_out)
		printf(", without %llu bytes that were not finished",
		       (unsigned long long)result->left_out);
	if (!r->args->output)
		print_destinations(result->pending);
	putchar('\n');
}

static void tell(void *context, const struct recover_result *result)
{
	struct recovery *r = context;

	progress_clear(&r->progress);
	r->seen++;
	switch (result->outcome) {
	case RECOVER_MADE:
		print_recovered(r, result);
		break;
	case RECOVER_ALIVE:
		printf("%s/%s: its process is running\n", r->dir, result->name);
		break;
	case RECOVER_NOTHING:
		printf("%s/%s: all of it was reported%s\n", r->dir, result->name,
		       r->args->dry ? "" : "; removed");
		break;
	case RECOVER_FOREIGN:
		say("%s/%s: it is another user's, who alone can recover it", r->dir, result->name);
		r->failed++;
		break;
	case RECOVER_DAMAGED:
		say("%s/%s: it is damaged, and there is nothing in it to recover%s", r->dir,
		    result->name, r->args->dry ? "" : "; removed");
		r->failed++;
		break;
	case RECOVER_FAILED:
		say("%s/%s: %s", r->dir, result->name, strerror(-result->err));
		r->failed++;
		break;
	}
	fflush(stdout);
}

static bool go_on(void *context)
{
	struct recovery *r = context;

	progress_show(&r->progress, "%s: %u done", r->dir, r->seen);
	return true;
}

static int recover_directory(struct recovery *r, int dir, int out)
{
	const struct recover_how how = {
		.dry = r->args->dry, .out = out, .go_on = go_on, .tell = tell, .context = r
	};
	int made = recover_spool(dir, &how);

	if (made == -EBUSY)
		say("%s: somebody else is recovering it just now", r->dir);
	else if (made < 0)
		say("%s: %s", r->dir, strerror(-made));
	return made;
}

/* In a directory that all may write to each user has one of their own (SPOOL_DIR). */
static int recover_spool_directory(struct recovery *r, int out)
{
	int dir = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), own, made;
	char name[16];

	if (dir < 0) {
		say("%s: %s", r->dir, strerror(errno));
		return -errno;
	}
	made = recover_directory(r, dir, out);
	snprintf(name, sizeof(name), "%u", geteuid());
	own = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (own >= 0 && made >= 0)
		made = recover_directory(r, own, out);
	if (own >= 0)
		close(own);
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
		say("nothing was left by a process that was killed");
	return failed || r.failed ? COMMAND_FAILED : COMMAND_OK;
}

int cmd_recover(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	int status = args_parse(&args, argc, argv, recover_options), out = -1;

	if (status == COMMAND_OK && !args.file_count) {
		say("recover: which directory? It is what ASPROF_AGENT_SPOOL_DIR says");
		status = COMMAND_USAGE;
	}
	if (status == COMMAND_OK && args.output && !args.dry) {
		out = dir_make(args.output, 0755);
		if (out < 0) {
			say("%s: %s", args.output, strerror(-out));
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
