/* collapsed: folded stacks, one per line, in the format of async-profiler's converter. */
#include "decoder/commands/args.h"
#include "decoder/commands/empty_result.h"
#include "decoder/commands/command_input.h"
#include "decoder/commands/export_formats.h"
#include "decoder/output/output.h"
#include "decoder/output/message.h"
#include "profile/aggregate/profile.h"
#include "profile/aggregate/tree.h"

#include <stdlib.h>

static const struct command_option own_options[] = {
	{ "-o", "OUT", "the file to write, instead of standard output", ARG_STRING,
	  offsetof(struct args, output) },
	{ "--scaled", NULL, "count a memory sample by its weight, not as one", ARG_FLAG,
	  offsetof(struct args, query.weighted) },
	{ "--blocked-by", NULL, "append the stacks of the owners of locks", ARG_FLAG,
	  offsetof(struct args, blocked_by) },
	{ 0 },
};

const struct command_option *const collapsed_options[] = {
	own_options,  args_metrics, args_live,    args_total, args_filters,
	args_waits,   args_period,  args_sources, args_trace, args_bucket,
	args_threads, args_names,   args_reading, NULL,
};

static const char *const suffixes[] = {
	[JFR_FRAME_INTERPRETED] = "_[0]", [JFR_FRAME_JIT] = "_[j]",   [JFR_FRAME_INLINED] = "_[i]",
	[JFR_FRAME_NATIVE] = "",          [JFR_FRAME_CPP] = "",       [JFR_FRAME_KERNEL] = "_[k]",
	[JFR_FRAME_C1] = "_[1]",          [JFR_FRAME_TYPES - 1] = "",
};

/* Print all nodes depth first. LINE holds the path to the current node. */
static int collapsed_print_nodes(FILE *out, const struct tree *tree, const struct profile *profile,
				 struct buf *line)
{
	uint32_t at = tree->count ? tree->nodes[0].child : 0;
	size_t *lengths = calloc((size_t)tree->depth + 2, sizeof(*lengths));
	uint32_t level = 0;
	int err = lengths ? 0 : -1;

	while (at && !err) {
		const struct node *n = &tree->nodes[at];

		line->length = lengths[level];
		err = buf_printf(line, "%s%s%s", level ? ";" : "",
				 intern_text(&profile->names, n->name),
				 suffixes[node_type(n)] ? suffixes[node_type(n)] : "");
		if (n->self >= 0.5 && !err)
			fprintf(out, "%.*s %.0f\n", (int)line->length, (char *)line->data, n->self);
		if (n->child) {
			lengths[++level] = line->length;
			at = n->child;
			continue;
		}
		while (at && !tree->nodes[at].next) {
			at = tree->nodes[at].parent;
			level -= at ? 1 : 0;
		}
		at = at ? tree->nodes[at].next : 0;
	}
	free(lengths);
	return err;
}

static int collapsed_print(const struct args *args, struct profile *profile)
{
	struct tree tree = { 0 };
	struct buf line = BUF_INIT(64u << 20);
	struct output output = { 0 };
	int err;

	err = tree_add(&tree, profile, profile_choose_metric(profile, args->metric), args->total,
		       args->query.threads);
	if (!err) {
		tree_sort(&tree, profile);
		err = output_open(&output, args->output);
	} else {
		message_print("out of memory");
	}
	if (!err) {
		err = collapsed_print_nodes(output.file, &tree, profile, &line);
		err = output_close(&output) ? -1 : err;
	}
	tree_free(&tree);
	buf_free(&line);
	return err ? COMMAND_FAILED : COMMAND_OK;
}

int collapsed_export(struct args *args)
{
	struct profile profile = PROFILE_INIT;
	int status = command_read_profile(&profile, args, metric_mask(args->metric));
	enum metric metric = profile_choose_metric(&profile, args->metric);

	if (!args->total && !metric_is_memory(metric) && profile_needs_totals(&profile, metric))
		message_print("samples stand for different times: the recordings have different "
			      "sampling intervals; --total writes nanoseconds");
	if (profile.chunks && collapsed_print(args, &profile))
		status = COMMAND_FAILED;
	if (status == COMMAND_OK)
		empty_result_explain_profile(&profile, args);
	profile_free(&profile);
	return status;
}

int cmd_collapsed(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	int status;

	args.query.weighted = false; /* as in async-profiler's converter */
	status = args_parse(&args, argc, argv, collapsed_options);
	if (status == COMMAND_OK)
		status = collapsed_export(&args);
	args_free(&args);
	return status;
}
