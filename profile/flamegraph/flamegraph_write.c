/* Writer of a flame graph as one HTML page. */
#include "profile/flamegraph/flamegraph_write.h"

#include <inttypes.h>
#include <math.h>

#include "profile/aggregate/confidence.h"
#include "profile/page/page.h"
#include "profile/page/page_stacks.h"

PAGE_EMBED(flamegraph_script, "profile/flamegraph/flamegraph.js");
extern const char flamegraph_script[];

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
	page_stacks_notice(stacks, 0, notice, sizeof(notice));
	page_json_start(out, "meta");
	fputs("{\"title\":", out);
	page_json_string(out, graph->title);
	fputs(",\"notices\":[", out);
	page_json_string(out, losses);
	fputc(',', out);
	page_json_string(out, notice);
	fprintf(out, "],\"start_ms\":%" PRId64 ",\"end_ms\":%" PRId64,
		has_time ? profile->start_ns / 1000000 : 0,
		has_time ? profile->end_ns / 1000000 : 0);
	flamegraph_write_effective(out, graph, "effective", graph->profile);
	flamegraph_write_effective(out, graph, "base_effective", graph->base);
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
	struct page_stacks stacks = { 0 };
	int err = page_stacks_add(&stacks, graph->profile, graph->profile, graph->metric,
				  graph->by_total, false);

	if (!err && graph->base)
		err = page_stacks_add(&stacks, graph->profile, graph->base, graph->metric,
				      graph->by_total, true);
	if (!err)
		err = page_stacks_finish(&stacks, graph->profile, graph->min_share, 0);
	if (err)
		goto out;
	page_write_start(file, graph->title, NULL);
	fputs(page_header, file);
	fputs(page_graph, file);
	flamegraph_write_meta(file, graph, &stacks);
	err = flamegraph_write_stacks(file, &stacks, graph->profile);
	page_write_scripts(file, scripts);
	page_write_end(file);
out:
	page_stacks_free(&stacks);
	return err;
}
