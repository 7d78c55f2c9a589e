/* waits: what threads did and waited for. */
#include "decoder/commands/args.h"
#include "decoder/commands/command_input.h"
#include "decoder/commands/empty_result.h"
#include "decoder/commands/waits_print.h"
#include "decoder/input/file_feed.h"
#include "decoder/output/message.h"
#include "decoder/output/terminal.h"
#include "profile/aggregate/filter.h"
#include "profile/basics/text.h"
#include "profile/waits/owner_stacks.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_LIMIT     10
#define DEFAULT_LOCATIONS 3

static const struct command_option own_options[] = {
	{ "--by", "cause|peer|file|lock|holder|thread", "what a row is for (cause)", ARG_STRING,
	  offsetof(struct args, by) },
	{ "-n", "N", "rows to show (10; 0: all)", ARG_COUNT, offsetof(struct args, limit) },
	{ "--locations", "N", "functions to show of each (3; 0: all)", ARG_COUNT,
	  offsetof(struct args, locations) },
	{ "--full-names", NULL, "names in full length", ARG_FLAG,
	  offsetof(struct args, full_names) },
	{ "--json", NULL, "print JSON", ARG_FLAG, offsetof(struct args, json) },
	{ 0 },
};

const struct command_option *const waits_options[] = {
	own_options, args_filters, args_waits, args_period,  args_sources, args_trace,
	args_bucket, args_renames, args_names, args_reading, NULL,
};

/* Set *BY from --by. Returns a status, after a message. */
static int parse_by(const struct args *args, enum wait_by *by)
{
	*by = WAIT_BY_CAUSE;
	while (args->by && *by < WAIT_BYS && strcmp(args->by, wait_by_names[*by]) != 0)
		++*by;
	if (*by < WAIT_BYS)
		return COMMAND_OK;
	message_print("waits: --by %s: takes cause, peer, file, lock, holder or thread", args->by);
	return COMMAND_USAGE;
}

/* The exact times include the samples that a filter omits. */
static bool has_sample_filter(const struct query *query)
{
	return query->include.set || query->exclude.set || filter_wants_contexts(query);
}

static int read_times(struct thread_times *times, struct profile *profile, const struct args *args)
{
	struct feed *feed = NULL;
	int err = file_feed_open(&feed, &args->selection, args->files, args->file_count);

	if (!err)
		err = thread_times_read(times, profile, &args->query, feed);
	file_feed_close(feed);
	return command_status_from_error(err);
}

/* Read the samples, and scale them. --state and --cause select afterwards. */
static int read_waits(struct waits *w, struct profile *profile, struct thread_times *times,
		      struct args *args)
{
	uint32_t states = args->query.states, causes = args->query.causes;
	int status;

	args->query.waits = WAIT_PARTS_OWNER;
	args->query.states = args->query.causes = 0;
	status = command_read_profile(profile, args, 1u << METRIC_WALL);
	if (status == COMMAND_OK && profile->count) {
		status = read_times(times, profile, args);
		if (!has_sample_filter(&args->query))
			w->exact = thread_times_scale(times, profile);
		if (owner_stacks_spread(profile))
			status = command_status_from_error(-ENOMEM);
	}
	args->query.states = states;
	args->query.causes = causes;
	return status;
}

/* Print why there is no row: the switches that select, and the causes that exist. */
static void explain_no_groups(const struct waits *w)
{
	const struct args *args = w->args;
	struct wait_groups all;
	struct buf text = BUF_INIT(1024);

	if (!wait_groups_make(&all, w->profile, WAIT_BY_CAUSE, 0, 0))
		for (uint32_t i = 0; i < all.count; i++)
			buf_printf(&text, "%s%s", i ? ", " : "",
				   intern_text(&all.names, all.list[i].id));
	message_print("waits: nothing left: no sample passes%s%s%s; there is: %s",
		      args->query.states ? " --state" : "", args->query.causes ? " --cause" : "",
		      args->by ? " --by" : "", buf_string(&text) ? buf_string(&text) : "");
	buf_free(&text);
	wait_groups_free(&all);
}

static int print_waits(struct waits *w, enum wait_by by)
{
	const struct query *query = &w->args->query;
	int err = wait_groups_make(&w->groups, w->profile, by, query->states, query->causes);

	if (!err)
		err = wait_chains_make(&w->chains, w->profile);
	terminal_start_pager();
	if (!err)
		err = w->args->json ? waits_print_json(w) : waits_print_text(w);
	if (err)
		message_print("out of memory");
	else if (!w->groups.count && w->profile->count)
		explain_no_groups(w);
	wait_chains_free(&w->chains);
	wait_groups_free(&w->groups);
	return err ? COMMAND_FAILED : COMMAND_OK;
}

int cmd_waits(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct profile profile = PROFILE_INIT;
	struct thread_times times = { 0 };
	struct waits waits = {
		.args = &args, .profile = &profile, .times = &times, .width = text_terminal_width()
	};
	enum wait_by by = WAIT_BY_CAUSE;
	int status;

	args.limit = DEFAULT_LIMIT;
	args.locations = DEFAULT_LOCATIONS;
	args.metric = METRIC_WALL;
	status = args_parse(&args, argc, argv, waits_options);
	if (status == COMMAND_OK)
		status = parse_by(&args, &by);
	if (status == COMMAND_OK) {
		status = read_waits(&waits, &profile, &times, &args);
		if ((profile.count || args.json) && print_waits(&waits, by))
			status = COMMAND_FAILED;
		if (status == COMMAND_OK && !profile.count)
			empty_result_explain(&args, 1u << METRIC_WALL, "nothing was recorded");
	}
	thread_times_free(&times);
	profile_free(&profile);
	args_free(&args);
	return status;
}
