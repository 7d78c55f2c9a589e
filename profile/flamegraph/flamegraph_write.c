/* Writer of a flame graph, or a heatmap with one, as one HTML page. */
#include "profile/flamegraph/flamegraph_write.h"

#include <inttypes.h>
#include <math.h>

#include "profile/basics/confidence.h"
#include "profile/page/page.h"
#include "profile/page/page_stacks.h"

PAGE_EMBED(flamegraph_script, "profile/flamegraph/flamegraph.js");
PAGE_EMBED(heatmap_script, "profile/flamegraph/heatmap.js");
PAGE_EMBED(heatmap_style, "profile/flamegraph/heatmap.css");
PAGE_EMBED(heatmap_html, "profile/flamegraph/heatmap.html");
extern const char flamegraph_script[], heatmap_script[], heatmap_style[], heatmap_html[];

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

static void flamegraph_write_meta(FILE *out, const struct flamegraph *graph,
				  const struct page_stacks *stacks)
{
	const struct profile *profile = graph->profile;
	const struct metric_text *text = &metric_texts[graph->metric];
	bool has_time = profile->start_ns <= profile->end_ns;
	char losses[512], notice[256];

	losses_text(&profile->losses, graph->metric == METRIC_LIVE, losses, sizeof(losses));
	page_stacks_notice(stacks, graph->part ? graph->part->row_ms : graph->row_ms, notice,
			   sizeof(notice));
	page_json_start(out, "meta");
	fputs("{\"title\":", out);
	page_json_string(out, graph->title);
	fprintf(out, ",\"metric\":\"%s\",\"losses\":", text->name);
	page_json_string(out, losses);
	fputs(",\"notice\":", out);
	page_json_string(out, notice);
	fprintf(out, ",\"start_ms\":%" PRId64 ",\"end_ms\":%" PRId64,
		has_time ? profile->start_ns / 1000000 : 0,
		has_time ? profile->end_ns / 1000000 : 0);
	flamegraph_write_effective(out, graph, "effective", graph->profile);
	flamegraph_write_effective(out, graph, "base_effective", graph->base);
	if (graph->part)
		graph->part->write_meta(out, graph->part, stacks);
	else if (graph->row_ms)
		fprintf(out,
			",\"heat\":{\"start_ms\":%" PRId64
			",\"row_ms\":%u,\"rows\":%u,\"column_ms\":%" PRIu64 "}",
			stacks->start_ms, stacks->row_ms, stacks->rows,
			(uint64_t)graph->column_ms * stacks->row_ms / graph->row_ms);
	fprintf(out, ",\"unit\":\"%s\",\"threads\":%s,\"reverse\":%s}",
		graph->by_total ? text->total_unit : text->count_unit,
		graph->threads ? "true" : "false", graph->reverse ? "true" : "false");
	page_json_end(out);
}

static int flamegraph_write_stacks(FILE *file, const struct page_stacks *stacks,
				   const struct profile *profile)
{
	struct page_data *data;
	int err = page_data_open(&data, file, "stacks"), close_err;

	if (err)
		return err;
	err = page_stacks_write(data, stacks, profile);
	close_err = page_data_close(data);
	return err ? err : close_err;
}

int flamegraph_write(FILE *file, const struct flamegraph *graph)
{
	static const char *const scripts[] = { flamegraph_script, NULL };
	static const struct page_part heat = { heatmap_style, heatmap_html, heatmap_script, 0,
					       NULL };
	const struct page_part *part = graph->part ? graph->part : &heat;
	const char *const part_scripts[] = { part->script, flamegraph_script, NULL };
	struct page_stacks stacks = { 0 };
	int err = page_stacks_add(&stacks, graph->profile, graph->profile, graph->metric,
				  graph->by_total, false);

	if (!err && graph->base)
		err = page_stacks_add(&stacks, graph->profile, graph->base, graph->metric,
				      graph->by_total, true);
	if (!err)
		err = page_stacks_finish(&stacks, graph->profile, graph->min_share, graph->row_ms);
	if (err)
		goto out;
	page_write_start(file, graph->title, graph->row_ms ? part->style : NULL);
	fputs(page_header, file);
	if (graph->row_ms)
		fputs(part->html, file);
	fputs(page_graph, file);
	flamegraph_write_meta(file, graph, &stacks);
	err = flamegraph_write_stacks(file, &stacks, graph->profile);
	page_write_scripts(file, graph->row_ms ? part_scripts : scripts);
	page_write_end(file);
out:
	page_stacks_free(&stacks);
	return err;
}
