/* flamegraph: one HTML page that needs nothing else. */
#include "decoder/commands/args.h"
#include "decoder/commands/explain.h"
#include "decoder/output/flamegraph_page.h"
#include "decoder/commands/reading.h"
#include "decoder/output/output.h"
#include "decoder/output/say.h"
#include "profile/aggregate/profile.h"
#include "profile/aggregate/tree.h"
#include "profile/basics/text.h"

#include <stdlib.h>
#include <string.h>

static const struct command_option own_options[] = {
	{ "-o", "OUT", "the file to write, instead of standard output", ARG_STRING,
	  offsetof(struct args, output) },
	{ "--reverse", NULL, "start with the innermost frames", ARG_FLAG,
	  offsetof(struct args, reverse) },
	{ "--title", "TEXT", "the page's title", ARG_STRING, offsetof(struct args, title) },
	{ "--min", "SHARE", "leave out frames below this share of the whole (0)", ARG_RATIO,
	  offsetof(struct args, min_share) },
	{ 0 },
};

const struct command_option *const flamegraph_options[] = {
	own_options,  args_base,   args_metrics, args_total, args_filters, args_period,
	args_sources, args_bucket, args_threads, args_names, args_reading, NULL,
};

/* Inside a script element "</" and "<!--" would mean something. */
static void put_string(FILE *out, const char *string)
{
	char *copy = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&copy, &size);

	if (!memory)
		return;
	json_string(memory, string);
	if (fclose(memory))
		size = 0;
	for (size_t i = 0; i < size; i++)
		if (copy[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(copy[i], out);
	free(copy);
}

/* Names that the tree has, in the order in which numbers are given out. */
struct strings {
	uint32_t *number; /* by name in the profile; 0: none yet */
	uint32_t *list;
	uint32_t count;
};

static uint32_t number_of(struct strings *s, uint32_t name)
{
	if (!s->number[name]) {
		s->list[s->count] = name;
		s->number[name] = ++s->count;
	}
	return s->number[name] - 1;
}

static void put_strings(FILE *out, const struct strings *s, const struct profile *profile)
{
	for (uint32_t i = 0; i < s->count; i++) {
		fputs(i ? ",\n" : "", out);
		put_string(out, intern_text(&profile->names, s->list[i]));
	}
}

/* Depth, name, module, type, self, base: the page knows the parent by the depth. */
static void put_nodes(FILE *out, const struct tree *tree, double least, struct strings *names,
		      struct strings *modules)
{
	uint32_t at = tree->nodes[0].child, depth = 1;
	bool first = true;

	while (at) {
		const struct node *n = &tree->nodes[at];
		bool wanted = n->total >= least || n->base_total >= least;

		if (wanted) {
			fprintf(out, "%s%u,%u,%u,%u,%.0f,%.0f", first ? "" : ",\n", depth,
				number_of(names, n->name), number_of(modules, n->module),
				(unsigned)node_type(n), n->self, n->base_self);
			first = false;
		}
		if (wanted && n->child) {
			at = n->child;
			depth++;
			continue;
		}
		while (at && !tree->nodes[at].next) {
			at = tree->nodes[at].parent;
			depth -= at ? 1 : 0;
		}
		at = at ? tree->nodes[at].next : 0;
	}
}

struct page {
	const struct args *args;
	struct profile profile, base;
	struct tree tree;
	enum metric metric;
	bool by_total;
};

static int put_data(FILE *out, struct page *page)
{
	uint32_t count = page->profile.names.count + 1;
	struct strings names = { .number = calloc(count, sizeof(uint32_t)),
				 .list = calloc(count, sizeof(uint32_t)) };
	struct strings modules = { .number = calloc(count, sizeof(uint32_t)),
				   .list = calloc(count, sizeof(uint32_t)) };
	const struct metric_text *text = &metric_texts[page->metric];
	const struct args *args = page->args;
	char title[256];
	int err = -1;

	if (!names.number || !names.list || !modules.number || !modules.list)
		goto out;
	number_of(&modules, 0);
	snprintf(title, sizeof(title), "%s: %s%s", text->name, args->files[0],
		 args->file_count > 1 ? " and others" : "");
	fputs("{\"title\":", out);
	put_string(out, args->title ? args->title : title);
	fprintf(out, ",\"unit\":\"%s\",\"threads\":%s,\"reverse\":%s,\"base\":%s,\"nodes\":[",
		page->by_total ? text->total_unit : text->count_unit,
		args->query.threads ? "true" : "false", args->reverse ? "true" : "false",
		args->base_count ? "true" : "false");
	if (page->tree.count)
		put_nodes(out, &page->tree, args->min_share * page->tree.nodes[0].total, &names,
			  &modules);
	fputs("],\n\"names\":[", out);
	put_strings(out, &names, &page->profile);
	fputs("],\n\"modules\":[", out);
	put_strings(out, &modules, &page->profile);
	fputs("]}", out);
	err = 0;
out:
	free(names.number);
	free(names.list);
	free(modules.number);
	free(modules.list);
	return err;
}

/* The threads are always in the page, as its outermost frames: it can leave them out itself. */
static int fill_tree(struct page *page)
{
	int err = tree_add(&page->tree, &page->profile, page->metric, page->by_total, true);

	if (!err && page->args->base_count)
		err = tree_add_base(&page->tree, &page->profile, &page->base, page->metric,
				    page->by_total, true);
	tree_sort(&page->tree, &page->profile);
	return err;
}

static int print_page(struct page *page)
{
	const char *data = strstr(flamegraph_page, FLAMEGRAPH_DATA);
	struct output output;
	int err;

	if (fill_tree(page)) {
		say("out of memory");
		return COMMAND_FAILED;
	}
	if (output_open(&output, page->args->output))
		return COMMAND_FAILED;
	fwrite(flamegraph_page, 1, (size_t)(data - flamegraph_page), output.file);
	err = put_data(output.file, page);
	fputs(data + strlen(FLAMEGRAPH_DATA), output.file);
	if (err)
		say("out of memory");
	return output_close(&output) || err ? COMMAND_FAILED : COMMAND_OK;
}

int cmd_flamegraph(int argc, char **argv)
{
	struct args args = ARGS_INIT(argv[0]);
	struct page page = { .args = &args, .profile = PROFILE_INIT, .base = PROFILE_INIT };
	int status;

	status = args_parse(&args, argc, argv, flamegraph_options);
	if (status == COMMAND_OK) {
		status = read_profile(&page.profile, &args, metric_mask(args.metric));
		page.metric = profile_metric(&page.profile, args.metric);
		if (args.base_count)
			status |= read_base(&page.base, &args, 1u << page.metric);
		page.by_total = args.total || metric_is_memory(page.metric);
		if (page.profile.chunks && print_page(&page))
			status = COMMAND_FAILED;
		if (status == COMMAND_OK)
			profile_explain(&page.profile, &args);
	}
	tree_free(&page.tree);
	profile_free(&page.profile);
	profile_free(&page.base);
	args_free(&args);
	return status;
}
