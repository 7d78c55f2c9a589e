/* cost: CPU time of the profiler, in a running process or in recordings, and an estimate with other intervals. */
#include "decoder/commands/commands.h"
#include "decoder/commands/command_input.h"
#include "decoder/commands/empty_result.h"
#include "decoder/input/file_feed.h"
#include "decoder/live/live_request.h"
#include "decoder/output/message.h"
#include "profile/aggregate/summary.h"
#include "profile/basics/text.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct command_option own_options[] = {
	{ "--cpu", "TIME", "estimate: CPU time between samples of a thread, such as 1ms",
	  ARG_DURATION, offsetof(struct args, cpu_ns) },
	{ "--wall", "TIME", "estimate: wall time between them", ARG_DURATION,
	  offsetof(struct args, wall_ns) },
	{ "--mem", "SIZE", "estimate: bytes allocated between samples", ARG_SIZE,
	  offsetof(struct args, mem_bytes) },
	{ "--json", NULL, "print JSON", ARG_FLAG, offsetof(struct args, json) },
	{ 0 },
};

const struct command_option *const cost_options[] = {
	own_options, args_period, args_sources, args_bucket, args_reading, NULL,
};

/* Costs, and the intervals at which they arose; 0: not known, or off. */
struct cost_view {
	struct costs costs;
	double intervals[COSTS_STALLS];
	double memory_bytes, memory_limit_bytes; /* of a running process */
};

static const char *const units[COSTS_STALLS] = { "nanoseconds", "nanoseconds", "bytes" };

/* ---- A running process ---- */

/* The process is not trusted: results of other numbers might be infinite, which JSON does not have. */
#define NUMBER_MIN 1e-9
#define NUMBER_MAX 1e18

static double json_number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
	double number = cJSON_IsNumber(item) ? item->valuedouble : 0;

	return number >= NUMBER_MIN && number <= NUMBER_MAX ? number : 0;
}

static void view_read_kind(struct cost_view *view, const cJSON *cost, enum costs_kind kind)
{
	const cJSON *object = cJSON_GetObjectItemCaseSensitive(cost, costs_names[kind]);
	double elapsed_ns = view->costs.elapsed_ns;

	view->costs.kinds[kind].cpu_ns =
		view->costs.program_ns * json_number_of(object, "percent") / 100;
	view->costs.kinds[kind].samples = json_number_of(object, "samples");
	if (!cJSON_GetObjectItemCaseSensitive(object, "kept_percent"))
		return;
	view->costs.kinds[kind].sampled_ns = elapsed_ns;
	view->costs.kinds[kind].kept_ns = elapsed_ns * json_number_of(object, "kept_percent") / 100;
}

static void view_read_status(struct cost_view *view, const cJSON *status)
{
	static const char *const settings[COSTS_STALLS] = { "cpu_interval_ns", "wall_interval_ns",
							    "native_mem_bytes" };
	const cJSON *cost = cJSON_GetObjectItemCaseSensitive(status, "cost"),
		    *agent = cJSON_GetObjectItemCaseSensitive(status, "agent"),
		    *values = cJSON_GetObjectItemCaseSensitive(status, "settings");

	view->memory_bytes = json_number_of(agent, "memory_bytes");
	view->memory_limit_bytes = json_number_of(agent, "memory_limit_bytes");
	view->costs.is_known = cJSON_IsObject(cost);
	view->costs.program_ns = json_number_of(cost, "program_cpu_ns");
	view->costs.elapsed_ns = json_number_of(cost, "elapsed_ns");
	for (unsigned i = 0; i < COSTS_KINDS; i++)
		view_read_kind(view, cost, i);
	for (unsigned i = 0; i < COSTS_STALLS; i++)
		view->intervals[i] = json_number_of(values, settings[i]);
}

static int view_read_process(struct cost_view *view, pid_t pid)
{
	struct buf answer = BUF_INIT(LIVE_STATUS_MAX);
	struct live_request request = {
		.pid = pid, .method = "GET", .path = "/status", .body = ""
	};
	int err = live_request_send(&request, &answer);
	cJSON *status = err ? NULL : cJSON_ParseWithLength((char *)answer.data, answer.length);

	if (!err && !status) {
		message_print("process %d: the answer is not JSON", pid);
		err = -EPROTO;
	}
	if (status)
		view_read_status(view, status);
	cJSON_Delete(status);
	buf_free(&answer);
	return err;
}

/* ---- Recordings ---- */

static int view_read_files(struct cost_view *view, const struct args *args)
{
	struct summary summary = { 0 };
	struct feed *feed = NULL;
	int err = file_feed_open(&feed, &args->selection, args->files, args->file_count);

	if (!feed)
		return err;
	err = summary_read(&summary, &args->query, feed);
	view->costs = summary.costs;
	view->intervals[COSTS_CPU] = (double)summary.settings.cpu_interval_ns;
	view->intervals[COSTS_WALL] = (double)summary.settings.wall_interval_ns;
	view->intervals[COSTS_MEMORY] = (double)summary.settings.mem_interval;
	summary_free(&summary);
	file_feed_close(feed);
	return err;
}

/* ---- Output ---- */

static double share_of_program(const struct cost_view *view, double cpu_ns)
{
	return view->costs.program_ns > 0 ? cpu_ns / view->costs.program_ns : 0;
}

/* Estimate the share of KIND with INTERVAL: CPU samples are as many as the program's CPU time has intervals; others
 * change in proportion. Negative if it is not known. */
static double estimate(const struct cost_view *view, enum costs_kind kind, double interval)
{
	double cpu_ns = view->costs.kinds[kind].cpu_ns, samples = view->costs.kinds[kind].samples;

	if (kind == COSTS_CPU)
		return samples > 0 ? cpu_ns / samples / interval : -1;
	return view->intervals[kind] > 0 && cpu_ns > 0
		       ? share_of_program(view, cpu_ns) * view->intervals[kind] / interval
		       : -1;
}

static double wanted_interval(const struct args *args, enum costs_kind kind)
{
	const uint64_t wanted[COSTS_STALLS] = { args->cpu_ns, args->wall_ns, args->mem_bytes };

	return kind < COSTS_STALLS ? (double)wanted[kind] : 0;
}

static void print_kind(const struct cost_view *view, const struct args *args, enum costs_kind kind)
{
	double cpu_ns = view->costs.kinds[kind].cpu_ns, samples = view->costs.kinds[kind].samples,
	       wanted = wanted_interval(args, kind), would;
	char number[TEXT_NUMBER];

	if (!(cpu_ns > 0) && !(wanted > 0))
		return;
	printf("%9.3f%%  %s", 100 * share_of_program(view, cpu_ns), costs_names[kind]);
	if (kind < COSTS_STALLS && view->intervals[kind] > 0)
		printf(" every %s", text_amount(number, view->intervals[kind], units[kind]));
	if (samples > 0)
		printf(", %.1f us for a sample", cpu_ns / samples / 1e3);
	if (costs_kept(&view->costs, kind) < 0.9995)
		printf(", the budget kept %.1f%%", 100 * costs_kept(&view->costs, kind));
	if (kind == COSTS_INTERPRETERS)
		printf(" (part of these)");
	if (wanted > 0) {
		would = estimate(view, kind, wanted);
		printf(would < 0 ? "; every %s: not known" : "; every %s: %.3f%%",
		       text_amount(number, wanted, units[kind]), 100 * would);
	}
	putchar('\n');
}

static void print_memory(const struct cost_view *view)
{
	char used[TEXT_NUMBER], limit[TEXT_NUMBER];

	if (!(view->memory_bytes > 0))
		return;
	printf("%s of memory", text_amount(used, view->memory_bytes, "bytes"));
	if (view->memory_limit_bytes > 0)
		printf(" of %s (ASPROF_AGENT_MEMORY)",
		       text_amount(limit, view->memory_limit_bytes, "bytes"));
	putchar('\n');
}

static void view_print(const struct cost_view *view, const struct args *args)
{
	char program[TEXT_NUMBER], elapsed[TEXT_NUMBER];

	printf("%.3f%% of the program's CPU time (%s in %s)\n",
	       100 * share_of_program(view, costs_sum(&view->costs)),
	       text_duration(program, view->costs.program_ns),
	       text_duration(elapsed, view->costs.elapsed_ns));
	for (unsigned i = 0; i < COSTS_KINDS; i++)
		print_kind(view, args, i);
	print_memory(view);
}

static void view_print_json(const struct cost_view *view, const struct args *args)
{
	const struct costs *costs = &view->costs;

	printf("{\"program_cpu_ns\":%.0f,\"elapsed_ns\":%.0f,\"share\":%.6f", costs->program_ns,
	       costs->elapsed_ns, share_of_program(view, costs_sum(costs)));
	for (unsigned i = 0; i < COSTS_KINDS; i++) {
		double wanted = wanted_interval(args, i);

		printf(",\"%s\":{\"share\":%.6f,\"samples\":%.0f,\"cpu_ns\":%.0f,\"kept_share\":%."
		       "6f",
		       costs_names[i], share_of_program(view, costs->kinds[i].cpu_ns),
		       costs->kinds[i].samples, costs->kinds[i].cpu_ns, costs_kept(costs, i));
		if (i < COSTS_STALLS)
			printf(",\"interval\":%.0f", view->intervals[i]);
		if (wanted > 0 && estimate(view, i, wanted) >= 0)
			printf(",\"estimate\":%.6f", estimate(view, i, wanted));
		putchar('}');
	}
	if (view->memory_bytes > 0)
		printf(",\"memory_bytes\":%.0f,\"memory_limit_bytes\":%.0f", view->memory_bytes,
		       view->memory_limit_bytes);
	puts("}");
}

static bool is_process_id(const struct args *args)
{
	const char *text = args->file_count == 1 ? args->files[0] : "";

	return *text && strspn(text, "0123456789") == strlen(text);
}

int cmd_cost(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct cost_view view = { 0 };
	int err = 0, status = args_parse(&args, argc, argv, cost_options);
	pid_t pid;

	if (status != COMMAND_OK)
		goto out;
	if (!is_process_id(&args))
		err = view_read_files(&view, &args);
	else if (command_parse_pid(args.files[0], &pid))
		err = view_read_process(&view, pid);
	else
		status = COMMAND_USAGE;
	if (status == COMMAND_OK && view.costs.is_known) {
		if (args.json)
			view_print_json(&view, &args);
		else
			view_print(&view, &args);
	} else if (status == COMMAND_OK && !err) {
		message_print("cost: no costs are known: the recording is from a killed process or "
			      "another profiler");
		err = -ENODATA;
	}
	if (err)
		status = command_status_from_error(err);
out:
	args_free(&args);
	return status;
}
