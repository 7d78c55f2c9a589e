/* A flame graph as one page. */
#include "profile/flamegraph/flamegraph_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/basics/text.h"
#include "profile/flamegraph/flamegraph_page.h"

/* Inside a script element "</" and "<!--" would mean something. */
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

/* Names that the tree has, in the order in which numbers are given out. */
struct strings {
	uint32_t *number; /* by name in the profile; 0: none yet */
	uint32_t *list;
	uint32_t count;
};

static uint32_t string_table_add(struct strings *s, uint32_t name)
{
	if (!s->number[name]) {
		s->list[s->count] = name;
		s->number[name] = ++s->count;
	}
	return s->number[name] - 1;
}

static void string_table_write(FILE *out, const struct strings *s, const struct profile *profile)
{
	for (uint32_t i = 0; i < s->count; i++) {
		fputs(i ? ",\n" : "", out);
		json_write_script_string(out, intern_text(&profile->names, s->list[i]));
	}
}

/* Depth, name, module, type, self, base: the page knows the parent by the depth. */
static void flamegraph_write_nodes(FILE *out, const struct tree *tree, double least,
				   struct strings *names, struct strings *modules)
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

static int flamegraph_write_data(FILE *out, const struct flamegraph *graph)
{
	const struct profile *profile = graph->profile;
	uint32_t count = profile->names.count + 1;
	struct strings names = { .number = calloc(count, sizeof(uint32_t)),
				 .list = calloc(count, sizeof(uint32_t)) };
	struct strings modules = { .number = calloc(count, sizeof(uint32_t)),
				   .list = calloc(count, sizeof(uint32_t)) };
	const struct metric_text *text = &metric_texts[graph->metric];
	int err = -ENOMEM;

	if (!names.number || !names.list || !modules.number || !modules.list)
		goto out;
	string_table_add(&modules, 0);
	fputs("{\"title\":", out);
	json_write_script_string(out, graph->title);
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
