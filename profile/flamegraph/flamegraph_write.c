/* Writer of a flame graph as one HTML page. */
#include "profile/flamegraph/flamegraph_write.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/aggregate/confidence.h"
#include "profile/basics/text.h"
#include "profile/flamegraph/flamegraph_page.h"

/* Write STRING as JSON with '<' escaped: "</" and "<!--" have a meaning inside a script element. */
static void json_write_script_string(FILE *out, const char *string)
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

/* Names used by the tree, in the order of their numbers in the page. */
struct string_table {
	uint32_t *number; /* number + 1 by name ID in the profile; 0: not added yet */
	uint32_t *list;
	uint32_t count;
};

static uint32_t string_table_add(struct string_table *s, uint32_t name)
{
	if (!s->number[name]) {
		s->list[s->count] = name;
		s->number[name] = ++s->count;
	}
	return s->number[name] - 1;
}

static void string_table_write(FILE *out, const struct string_table *s,
			       const struct profile *profile)
{
	for (uint32_t i = 0; i < s->count; i++) {
		fputs(i ? ",\n" : "", out);
		json_write_script_string(out, intern_text(&profile->names, s->list[i]));
	}
}

/* Write each node: depth, name, module, type, self, base self. The page derives parents from
 * depths. */
static void flamegraph_write_nodes(FILE *out, const struct tree *tree, double least,
				   struct string_table *names, struct string_table *modules)
{
	uint32_t at = tree->nodes[0].child, depth = 1;
	bool first = true;

	while (at) {
		const struct node *n = &tree->nodes[at];
		bool wanted = n->total >= least || n->base_total >= least;

		if (wanted) {
			fprintf(out, "%s%u,%u,%u,%u,%.0f,%.0f", first ? "" : ",\n", depth,
				string_table_add(names, n->name),
				string_table_add(modules, n->module), (unsigned)node_type(n),
				n->self, n->base_self);
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

/* Write member NAME: the effective sample size of PROFILE; null if its shares are exact. */
static void flamegraph_write_effective(FILE *out, const struct flamegraph *graph, const char *name,
				       const struct profile *profile)
{
	double effective = INFINITY;

	if (profile)
		effective = profile_effective_of(profile, graph->metric, graph->by_total);
	fputc(',', out);
	interval_json_effective(out, name, effective);
}

static int flamegraph_write_data(FILE *out, const struct flamegraph *graph)
{
	const struct profile *profile = graph->profile;
	uint32_t count = profile->names.count + 1;
	struct string_table names = { .number = calloc(count, sizeof(uint32_t)),
				      .list = calloc(count, sizeof(uint32_t)) };
	struct string_table modules = { .number = calloc(count, sizeof(uint32_t)),
					.list = calloc(count, sizeof(uint32_t)) };
	const struct metric_text *text = &metric_texts[graph->metric];
	char losses[512];
	int err = -ENOMEM;

	if (!names.number || !names.list || !modules.number || !modules.list)
		goto out;
	string_table_add(&modules, 0);
	fputs("{\"title\":", out);
	json_write_script_string(out, graph->title);
	losses_text(&profile->losses, graph->metric == METRIC_LIVE, losses, sizeof(losses));
	fputs(",\"losses\":", out);
	json_write_script_string(out, losses);
	flamegraph_write_effective(out, graph, "effective", graph->profile);
	flamegraph_write_effective(out, graph, "base_effective", graph->base);
	fprintf(out, ",\"unit\":\"%s\",\"threads\":%s,\"reverse\":%s,\"base\":%s,\"nodes\":[",
		graph->by_total ? text->total_unit : text->count_unit,
		graph->threads ? "true" : "false", graph->reverse ? "true" : "false",
		graph->base ? "true" : "false");
	if (graph->tree->count)
		flamegraph_write_nodes(out, graph->tree,
				       graph->min_share * graph->tree->nodes[0].total, &names,
				       &modules);
	fputs("],\n\"names\":[", out);
	string_table_write(out, &names, profile);
	fputs("],\n\"modules\":[", out);
	string_table_write(out, &modules, profile);
	fputs("]}", out);
	err = 0;
out:
	free(names.number);
	free(names.list);
	free(modules.number);
	free(modules.list);
	return err;
}

int flamegraph_write(FILE *file, const struct flamegraph *graph)
{
	const char *data = strstr(flamegraph_page, FLAMEGRAPH_DATA);
	int err;

	fwrite(flamegraph_page, 1, (size_t)(data - flamegraph_page), file);
	err = flamegraph_write_data(file, graph);
	fputs(data + strlen(FLAMEGRAPH_DATA), file);
	return err;
}
