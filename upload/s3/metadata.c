/* What stands beside a recording in its zip file: metadata.json. */
#include "upload/s3/metadata.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "upload/queue/origin.h"

static int add_tag(void *object, const char *key, const char *value)
{
	cJSON_AddStringToObject(object, key, value);
	return 0;
}

static void add_tags(cJSON *agent, const char *tags)
{
	if (tags && tags[0])
		report_each_tag(tags, add_tag, cJSON_AddObjectToObject(agent, "tags"));
}

static void add_number(cJSON *object, const char *key, uint64_t value)
{
	cJSON_AddNumberToObject(object, key, (double)value);
}

static void add_losses(cJSON *agent, const struct report *report)
{
	const struct report_losses *losses = &report->losses;
	cJSON *object = cJSON_AddObjectToObject(agent, "samples");

	add_number(object, "taken", report->samples_taken);
	add_number(object, "lost", report->samples_lost);
	if (losses->spooled_bytes)
		add_number(agent, "spooled_bytes", losses->spooled_bytes);
	if (!losses->dropped_bytes)
		return;
	object = cJSON_AddObjectToObject(agent, "dropped");
	add_number(object, "bytes", losses->dropped_bytes);
	add_number(object, "full", losses->full);
	add_number(object, "aged", losses->aged);
	add_number(object, "refused", losses->refused);
}

static void add_string(cJSON *object, const char *key, const char *value)
{
	if (value && value[0])
		cJSON_AddStringToObject(object, key, value);
}

/* What ORIGIN tells of the place that the report is of. */
static void add_origin(cJSON *agent, cJSON *origin)
{
	static const char *const keys[] = { "hostname", "cgroup", "host", "kubernetes" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(origin, keys[i]);

		if (item)
			cJSON_AddItemToObject(agent, keys[i], item);
	}
}

static cJSON *make(const struct report *report, const struct config *config,
		   const struct host *host, const struct environment *environment)
{
	cJSON *object = cJSON_CreateObject(), *agent;
	cJSON *origin = origin_of(report, environment, host);

	add_number(object, "start", report->start_ms);
	add_number(object, "end", report->end_ms);
	add_number(object, "reporting_interval", report->interval_ms);
	agent = cJSON_AddObjectToObject(object, "agent");
	add_string(agent, "version", ASPROF_AGENT_VERSION);
	add_string(agent, "executable", report->executable);
	add_number(agent, "pid", (uint64_t)report->pid);
	add_string(agent, "engine", report->engine);
	add_string(agent, "engine_version", report->engine_version);
	add_origin(agent, origin);
	cJSON_Delete(origin);
	add_tags(agent, report->tags ? report->tags : config->tags);
	add_losses(agent, report);
	return object;
}

int metadata_json(struct buf *out, const struct report *report, const struct config *config,
		  const struct host *host, const struct environment *environment)
{
	cJSON *object = make(report, config, host, environment);
	char *text = cJSON_PrintUnformatted(object);
	int err = text ? buf_append_string(out, text) : -ENOMEM;

	cJSON_free(text);
	cJSON_Delete(object);
	return err;
}
