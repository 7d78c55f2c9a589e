/* The file metadata.json of a zip file. */
#include "upload/s3/metadata.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/agent/cost_counters.h"
#include "upload/queue/json_object.h"
#include "upload/queue/origin.h"

struct tags {
	cJSON *object;
	bool failed;
};

static int metadata_add_tag(void *arg, const char *key, const char *value)
{
	struct tags *tags = arg;

	json_put(tags->object, key, cJSON_CreateString(value), &tags->failed);
	return 0;
}

static void metadata_add_tags(cJSON *agent, const char *text, bool *failed)
{
	struct tags tags = { .failed = false };

	if (!text || !text[0])
		return;
	tags.object = json_put(agent, "tags", cJSON_CreateObject(), &tags.failed);
	if (report_each_tag(text, metadata_add_tag, &tags) || tags.failed)
		*failed = true;
}

static void metadata_add_number(cJSON *object, const char *key, uint64_t value, bool *failed)
{
	json_put_number(object, key, (double)value, failed);
}

static void metadata_add_losses(cJSON *agent, const struct report *report, bool *failed)
{
	const struct report_losses *losses = &report->losses;
	cJSON *object = json_put(agent, "samples", cJSON_CreateObject(), failed);

	if (report->recovered)
		json_put(agent, "recovered", cJSON_CreateTrue(), failed);
	metadata_add_number(object, "taken", report->samples_taken, failed);
	metadata_add_number(object, "lost", report->samples_lost, failed);
	if (losses->spooled_bytes)
		metadata_add_number(agent, "spooled_bytes", losses->spooled_bytes, failed);
	/* A chunk that the session drops has no bytes. */
	if (!losses->dropped_bytes && !losses->dropped_full && !losses->dropped_aged &&
	    !losses->dropped_refused)
		return;
	object = json_put(agent, "dropped", cJSON_CreateObject(), failed);
	metadata_add_number(object, "bytes", losses->dropped_bytes, failed);
	metadata_add_number(object, "full", losses->dropped_full, failed);
	metadata_add_number(object, "aged", losses->dropped_aged, failed);
	metadata_add_number(object, "refused", losses->dropped_refused, failed);
}

/* Add what sampling has cost, and the share of the samples that the overhead budget has kept. */
static void metadata_add_costs(cJSON *agent, const struct report_costs *costs, bool *failed)
{
	cJSON *object, *kind;

	if (!costs->elapsed_ns)
		return;
	object = json_put(agent, "cost", cJSON_CreateObject(), failed);
	metadata_add_number(object, "program_cpu_ns", costs->program_ns, failed);
	metadata_add_number(object, "agent_cpu_ns", costs->fixed_ns, failed);
	for (size_t i = 0; i < COST_KINDS; i++) {
		const struct report_cost *cost = &costs->kinds[i];

		if (!cost->ns && !cost->sampled_ns)
			continue;
		kind = json_put(object, cost_names[i], cJSON_CreateObject(), failed);
		metadata_add_number(kind, "cpu_ns", cost->ns, failed);
		if (cost->sampled_ns)
			json_put_number(kind, "kept_share",
					(double)cost->kept_ns / (double)cost->sampled_ns, failed);
	}
}

/* Add the parts of ORIGIN that describe the machine, container and pod. */
static void metadata_add_origin(cJSON *agent, cJSON *origin, bool *failed)
{
	static const char *const keys[] = { "hostname", "cgroup", "host", "kubernetes" };

	*failed |= !origin;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(origin, keys[i]);

		if (item)
			json_put(agent, keys[i], item, failed);
	}
}

static cJSON *metadata_make(const struct report *report, const struct config *config,
			    const struct host *host, const struct environment *environment)
{
	cJSON *object = cJSON_CreateObject(), *agent;
	cJSON *origin = origin_of(report, environment, host);
	bool failed = false;

	metadata_add_number(object, "start", report->start_ms, &failed);
	metadata_add_number(object, "end", report->end_ms, &failed);
	metadata_add_number(object, "reporting_interval", report->interval_ms, &failed);
	agent = json_put(object, "agent", cJSON_CreateObject(), &failed);
	json_put_string(agent, "version", ASPROF_AGENT_VERSION, &failed);
	json_put_string(agent, "executable", report->executable, &failed);
	json_put_string(agent, "service_version", report->version, &failed);
	metadata_add_number(agent, "pid", (uint64_t)report->pid, &failed);
	metadata_add_number(agent, "profiled_since", report->profiled_since_ms, &failed);
	json_put_string(agent, "engine", report->engine, &failed);
	json_put_string(agent, "engine_version", report->engine_version, &failed);
	metadata_add_origin(agent, origin, &failed);
	cJSON_Delete(origin);
	metadata_add_tags(agent, report->tags ? report->tags : config->tags, &failed);
	metadata_add_losses(agent, report, &failed);
	metadata_add_costs(agent, &report->costs, &failed);
	return json_finish(object, failed);
}

int metadata_json(struct buf *out, const struct report *report, const struct config *config,
		  const struct host *host, const struct environment *environment)
{
	cJSON *object = metadata_make(report, config, host, environment);
	char *text = object ? cJSON_PrintUnformatted(object) : NULL;
	int err = text ? buf_append_string(out, text) : -ENOMEM;

	cJSON_free(text);
	cJSON_Delete(object);
	return err;
}
